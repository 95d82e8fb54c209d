"""The simulation that says how often intervals of areas contain the truth."""

import numpy as np
import pytest

from bench import interval_coverage
from bench.interval_coverage import SHIFTS, WITHIN, Setting, coverage_rows
from ops.statistics.by_document import areas_by_document

FEW = (Setting(5, 50), Setting(10, 20), Setting(40, 200), Setting(5), Setting(20, None, apart=False))


@pytest.mark.slow
def test_intervals_of_areas_contain_the_truth_as_often_as_they_should() -> None:
    rows = coverage_rows(400, 3, FEW)
    assert len(rows) == len(FEW) * len(SHIFTS) * len(WITHIN)
    assert [row for row in rows if not row["ok"]] == []
    assert np.mean([row["covered"] for row in rows]) == pytest.approx(0.95, abs=0.01)


def test_intervals_that_are_too_narrow_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_sentence(higher: np.ndarray, lower: np.ndarray, *documents: np.ndarray) -> np.ndarray:
        return areas_by_document(higher, lower, *(np.arange(len(own)) for own in documents))

    monkeypatch.setattr(interval_coverage, "areas_by_document", by_sentence)
    rows = coverage_rows(100, 3, (Setting(10, 20),))
    assert [row["ok"] for row in rows] == [row["within"] == 0 for row in rows]
