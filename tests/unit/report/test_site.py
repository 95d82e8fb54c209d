"""Which neurons get pages in a report."""

from pathlib import Path

import pytest

from ops.report.site import Site
from tests.unit.facts.made_up_rows import run_facts, write_tables


def score(unit: int, excess: float | None) -> dict[str, object]:
    return {"layer": 1, "unit": unit, "pole": "top", "auc_excess": excess}


@pytest.mark.parametrize(
    ("scores", "units", "chosen"),
    [
        ([score(2, 0.3), score(1, None)], (), [(1, 2)]),
        ([score(1, None)], (), [(1, 1), (1, 2)]),
        ([], ("1:0", "1:2"), [(1, 2), (1, 0)]),
    ],
)
def test_without_a_score_the_most_skewed_of_those_mined(
    scores: list[dict[str, object]], units: tuple[str, ...], chosen: list[tuple[int, int]], tmp_path: Path
) -> None:
    skewed = [{"layer": 1, "unit": unit, "skew": skew, "is_silent": False} for unit, skew in enumerate((0.1, -9, 3.0))]
    store = write_tables(tmp_path, {"neurons": skewed, "scores": scores})
    site = object.__new__(Site)
    vars(site).update(facts=run_facts(store, options={"units": units}), findings=[])
    assert site.choose(2, []) == chosen
