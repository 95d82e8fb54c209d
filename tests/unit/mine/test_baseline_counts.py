from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ops.mine.baseline_counts import PARTS, Baseline, add_up, baseline_table, few_counts, read_baselines
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
NONE = to_keys(Sequences.from_lists([]))


def counting(*factors: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a counter that finds the patterns so many times in each row."""
    return lambda rows: np.array(factors, np.int64) * len(rows)


def same(found: Baseline, profiler: Profiler, rows: np.ndarray) -> None:
    assert found.sentences == len(rows)
    assert found.sums == profiler.sums(rows)
    for ours, theirs in zip(found.values, profiler.count(rows), strict=True):
        assert ours.n == theirs.n
        known = np.zeros(len(ours.count), np.int64)
        known[theirs.value] = theirs.count
        np.testing.assert_array_equal(ours.count, known)


def test_what_is_laid_out_is_read_back_whole_and_for_the_training_part(profiler: Profiler) -> None:
    training, test = np.arange(0, 30, 3), np.setdiff1d(np.arange(30), np.arange(0, 30, 3))
    patterns = {"word": (KEYS, counting(4, 3, 0)), "tag": (KEYS[1:], counting(3, 0)), "subtree": (NONE, counting())}
    both, first = read_baselines(baseline_table(patterns, profiler, (training, test)), profiler)
    assert both.counts["word"].tolist() == [120, 90, 0]
    assert first.counts["word"].tolist() == [40, 30, 0]
    assert first.counts["tag"].tolist() == [30, 0]
    assert both.index["tag"].find(PATTERNS).tolist() == [-1, 0, 1]
    asked = PATTERNS.take(np.array([2, 0]))
    assert (both.support("word", asked).tolist(), first.support("word", asked).tolist()) == ([0, 120], [0, 40])
    assert both.support("subtree", Sequences.from_lists([])).tolist() == []
    same(both, profiler, np.arange(30))
    same(first, profiler, training)


def test_runs_add_up_to_the_whole(profiler: Profiler) -> None:
    none = np.zeros(0, np.int64)
    runs = [(none, none), (np.arange(11, 12), np.arange(12, 30)), (np.arange(0, 7), np.arange(7, 11))]
    patterns = {"word": (KEYS, counting(1, 0, 2))}
    whole, few = ([count(patterns, profiler, run) for run in runs] for count in (baseline_table, few_counts))
    assert all(t.select(["what", "key"]).equals(whole[0].select(["what", "key"])) for t in whole)
    for found, known in zip(few, whole, strict=True):
        lines = np.flatnonzero(known["training"].to_numpy() + known["test"].to_numpy())
        assert found.equals(pa.table({"line": lines, **{part: known[part].take(lines) for part in PARTS}}))
    tables = [whole[0], *few[1:]]
    both, first = read_baselines(add_up(iter(tables)), profiler)
    assert both.counts["word"].tolist() == [30, 0, 60]
    same(both, profiler, np.arange(30))
    same(first, profiler, np.array([*range(7), 11]))
