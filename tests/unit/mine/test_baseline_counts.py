from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ops.mine.baseline_counts import PARTS, Baseline, BlockCounter, add_up, read_baselines
from ops.mine.candidates import to_keys
from ops.mine.properties import Profiler
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from tests.unit.small_corpus import open_corpus, random_sentences


@pytest.fixture
def profiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profiler:
    return Profiler(MiningView(open_corpus(tmp_path, monkeypatch, random_sentences(3, 30))))


PATTERNS = Sequences.from_lists([[0], [0, 1], [5]])
KEYS = to_keys(PATTERNS)
UNION = pa.table({"kind": ["word"] * 3 + ["tag"] * 2, "key": pa.chunked_array([KEYS, KEYS[1:]])})


def counting(*factors: int) -> Any:
    """Return a kind of patterns that finds each pattern so many times in each row."""
    counter: Callable[[np.ndarray], np.ndarray] = lambda rows: np.array(factors, np.int64) * len(rows)  # noqa: E731
    return SimpleNamespace(counter=lambda patterns: counter)


KINDS = {"word": counting(4, 3, 0), "tag": counting(3, 0), "subtree": counting()}


def same(found: Baseline, profiler: Profiler, rows: np.ndarray) -> None:
    assert found.sentences == len(rows)
    assert found.sums == profiler.sums(rows)
    for ours, theirs in zip(found.values, profiler.count(rows), strict=True):
        assert ours.n == theirs.n.item()
        known = np.zeros(len(ours.count), np.int64)
        known[theirs.value] = theirs.counts["support"]
        np.testing.assert_array_equal(ours.count, known)


def test_what_is_laid_out_is_read_back_whole_and_for_each_half(profiler: Profiler) -> None:
    halves = np.arange(0, 30, 3), np.setdiff1d(np.arange(30), np.arange(0, 30, 3))
    totals = add_up([BlockCounter(UNION, KINDS, profiler).count(halves)])
    both, (first, second) = read_baselines(UNION, KINDS, profiler, totals)
    assert both.counts["word"].tolist() == [120, 90, 0]
    assert first.counts["word"].tolist() == [40, 30, 0]
    assert first.counts["tag"].tolist() == [30, 0]
    assert both.index["tag"].find(PATTERNS).tolist() == [-1, 0, 1]
    asked = PATTERNS.take(np.array([2, 0]))
    assert (both.support("word", asked).tolist(), first.support("word", asked).tolist()) == ([0, 120], [0, 40])
    assert both.support("subtree", Sequences.from_lists([])).tolist() == []
    same(both, profiler, np.arange(30))
    for found, rows in zip((first, second), halves, strict=True):
        same(found, profiler, rows)


def test_blocks_add_up_to_the_whole(profiler: Profiler) -> None:
    none = np.zeros(0, np.int64)
    blocks = [(none, none), (np.arange(11, 12), np.arange(12, 30)), (np.arange(0, 7), np.arange(7, 11))]
    counted = [BlockCounter(UNION, KINDS, profiler).count(block) for block in blocks]
    assert counted[0].num_rows == 1
    for table in counted:
        counts = sum(table[part].to_numpy() for part in PARTS)
        assert (np.diff(table["line"].to_numpy()) > 0).all()
        assert (counts[:-1] > 0).all()
    both, (first, _) = read_baselines(UNION, KINDS, profiler, add_up(iter(counted)))
    assert both.counts["word"].tolist() == [120, 90, 0]
    same(both, profiler, np.arange(30))
    same(first, profiler, np.array([*range(7), 11]))
