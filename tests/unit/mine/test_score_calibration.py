"""Held-out scores of sets that have nothing but their length in common."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.mined_calibration import range_tables, score_rows
from ops.mine.mining import Mining
from ops.patterns.sequences import Sequences
from ops.topk.neurons import Neurons
from tests.unit.mine.test_mining import OPTIONS
from tests.unit.small_corpus import Sentence, open_corpus

SIZE, DOCUMENTS = 60, 150


def sentences(seed: int) -> list[Sentence]:
    """Return sentences of documents with preferred words, in two data sets of different sentence lengths."""
    rng = np.random.default_rng(seed)
    found = []
    for document in range(DOCUMENTS):
        words = np.array([f"w{i}" for i in range(40)])
        share = rng.dirichlet(np.full(40, 2.0))
        for _ in range(4):
            length = int(rng.integers(3, 12)) + 4 * (document % 2)
            own = [str(word) for word in rng.choice(words, length, p=share)]
            found.append(Sentence(own, dataset=f"s{document % 2}", doc_id=f"d{document}"))
    return found


def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[dict[str, Any]]:
    mining = Mining(open_corpus(tmp_path, monkeypatch, sentences(1)), Neurons((8,)), OPTIONS | options, 3)
    return score_rows(mining, SIZE, 60, 30, 3, 5)


def test_no_length_gains_or_loses_and_the_intervals_hold_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = measured(tmp_path, monkeypatch)
    assert rows[0]["null"] == "uniform"
    assert len(rows) == 4
    assert [row["sets"] for row in rows] == [60, 30, 30, 30]
    for row in rows:
        assert row["ok"], row
        # Longer sentences have more evidence: against all of their data set, areas differ from 0.5 by up to 0.27.
        assert abs(row["auc"] - 0.5) < 0.04, row
        assert row["excess_low"] < row["excess"] < row["excess_high"]
    assert 0.86 < rows[0]["covered"] <= 1
    assert rows[0]["covered_low"] < rows[0]["covered"] < rows[0]["covered_high"]


def test_random_sets_gain_nothing_in_either_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mining = Mining(open_corpus(tmp_path, monkeypatch, sentences(1)), Neurons((120,)), OPTIONS, 3)
    number, rng = np.arange(120), np.random.default_rng(5)
    drawn = [np.sort(rng.choice(len(mining.half), SIZE, replace=False)).tolist() for _ in number]
    winners = Sequences.from_lists(drawn)
    candidates = mining.candidates(number, winners)
    assert mining.held_out is not None
    sets = mining.held_out.draw(number, winners)
    for half in (0, 1):
        areas = range_tables(mining, candidates).half_scores(candidates, number, sets, half)[0]
        excess = np.array([own.auc - matched.auc for own, matched in zip(areas[::3], areas[1::3], strict=True)])
        assert excess.std() > 0.02
        assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(120)


def test_scores_that_are_left_out_are_no_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="leave the scores out"):
        measured(tmp_path, monkeypatch, no_scores=True)
