"""The queries of docs/explanations.md find something, and both programs that recompute a row agree with the table."""

import re
import runpy
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score

from tests.conftest import ROOT
from tests.unit.explain.small_explained_run import (
    SCORED,
    SUBTREE,
    WEIGHTS,
    score,
    sentences,
    winners,
    write_run,
)

PAGE = (ROOT / "docs" / "explanations.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
RECOMPUTE = ROOT / "docs" / "recompute"
MEASURES = ("average_precision", "precision", "recall", "f1")


def measured(weights: list[tuple[str, list[str], float]]) -> dict[str, Any]:
    """Return the scores of a card on the test half, by scikit-learn."""
    winning = set(winners(weights))
    rows = [row for row in sentences() if row["is_baseline"] or row["sent_id"] in winning]
    wins = np.array([row["sent_id"] in winning for row in rows])
    held_out = np.array([row["fold"] >= 5 for row in rows])
    scores = np.array([score(weights, row) for row in rows])
    stands_for = np.where(wins, 1.0, (SCORED - len(winning)) / np.count_nonzero(~wins))
    levels = np.unique(scores[~held_out])[::-1]
    f1 = [f1_score(wins[~held_out], scores[~held_out] >= t, sample_weight=stands_for[~held_out]) for t in levels]
    called = scores[held_out] >= levels[int(np.argmax(np.round(f1, 12)))]
    own = {"y_true": wins[held_out], "sample_weight": stands_for[held_out]}
    return {
        "average_precision": average_precision_score(y_score=scores[held_out], **own),
        "precision": precision_score(y_pred=called, **own),
        "recall": recall_score(y_pred=called, **own),
        "f1": f1_score(y_pred=called, **own),
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explained")
    # The unit with a subtree has the higher F1, so that SQL has to leave it out and Python has to take it.
    write_run(folder, {8: measured(WEIGHTS), 9: measured([*WEIGHTS, SUBTREE]) | {"f1": 0.99}})
    return folder


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_finds_something(run: Path, query: str) -> None:
    assert duckdb.sql(query.replace("runs/small", str(run))).fetchall()


def test_a_row_is_recomputed_in_sql(run: Path) -> None:
    query = (RECOMPUTE / "score_card.sql").read_text(encoding="utf-8")
    table, again = duckdb.sql(query.replace("runs/small", str(run))).fetchall()
    assert (table[0], again[0]) == ("the table", "recomputed")
    assert again[1:] == pytest.approx(table[1:], rel=1e-9)
    assert table[1:] == pytest.approx([measured(WEIGHTS)[name] for name in MEASURES])


def test_a_row_is_recomputed_in_python(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["score_card.py", str(run)])
    names = runpy.run_path(str(RECOMPUTE / "score_card.py"))
    expected = measured([*WEIGHTS, SUBTREE])
    assert (names["row"]["unit"], names["row"]["average_precision"]) == (9, expected["average_precision"])
    assert names["again"] == pytest.approx([expected[name] for name in MEASURES])
    assert capsys.readouterr().out
