from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ops.mine.baseline_counts import baseline_table, read_baseline
from ops.mine.candidates import to_keys
from ops.mine.properties import Profiler
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from tests.unit.small_corpus import open_corpus, random_sentences


@pytest.fixture
def profiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profiler:
    return Profiler(MiningView(open_corpus(tmp_path, monkeypatch, random_sentences(3, 30))))


KEYS = to_keys(Sequences.from_lists([[0], [0, 1], [5]]))
NONE = to_keys(Sequences.from_lists([]))


def total(tables: list[pa.Table]) -> pa.Table:
    counts = np.sum([t["count"].to_numpy() for t in tables], axis=0)
    return tables[0].set_column(2, "count", pa.array(counts))


def test_what_is_laid_out_is_read_back(profiler: Profiler) -> None:
    rows = np.arange(30)
    numbers = np.array([4, 3, 0])
    table = baseline_table(
        30, {"word": (KEYS, numbers), "tag": (KEYS[1:], numbers[1:]), "subtree": (NONE, NONE)}, profiler, rows
    )  # type: ignore[dict-item]
    found = read_baseline(table, profiler)
    assert found.sentences == 30
    assert found.counts["word"].tolist() == [4, 3, 0]
    assert found.keys["tag"].to_pylist() == KEYS.to_pylist()[1:]
    for ours, theirs in zip(found.values, profiler.count(rows), strict=True):
        assert ours.n == theirs.n
        np.testing.assert_array_equal(ours.count, theirs.count)
    assert found.sums == profiler.sums(rows)


def test_runs_add_up_to_the_whole(profiler: Profiler) -> None:
    parts = [np.arange(0, 11), np.zeros(0, np.int64), np.arange(11, 30)]
    tables = [baseline_table(len(p), {"word": (KEYS, np.array([len(p), 0, 1]))}, profiler, p) for p in parts]
    assert len({t.num_rows for t in tables}) == 1
    assert all(t.select(["what", "key"]).equals(tables[0].select(["what", "key"])) for t in tables)
    found, whole = read_baseline(total(tables), profiler), np.arange(30)
    assert found.sentences == 30
    assert found.counts["word"].tolist() == [30, 0, 3]
    assert found.sums == profiler.sums(whole)
    for ours, theirs in zip(found.values, profiler.count(whole), strict=True):
        np.testing.assert_array_equal(ours.count, theirs.count)


def test_patterns_are_looked_up_in_any_order(profiler: Profiler) -> None:
    table = baseline_table(9, {"word": (KEYS, np.array([4, 3, 0]))}, profiler, np.arange(9))
    baseline = read_baseline(pa.concat_tables([table.slice(0, 2), table.slice(2)]), profiler)
    asked = pa.chunked_array([KEYS.take(pa.array([2, 0])), KEYS.take(pa.array([1, 0]))])
    assert baseline.support("word", asked).tolist() == [0, 4, 3, 4]


def test_an_empty_baseline(profiler: Profiler) -> None:
    table = baseline_table(0, {"word": (KEYS, np.zeros(3, np.int64))}, profiler, np.zeros(0, np.int64))
    found = read_baseline(table, profiler)
    assert found.sentences == 0
    assert not any(v.n for v in found.values)
    assert np.isnan(found.sums["words_per_sentence"].mean)
