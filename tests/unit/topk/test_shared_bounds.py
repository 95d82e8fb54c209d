"""The thresholds that workers share: when they are posted, what they follow from, whom they are for."""

from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ops.reducers.moments import Moments
from ops.reducers.thresholds import histogram_bounds
from ops.shards import Shards
from ops.storage.store import Store
from ops.topk import partial_file as topk_partial
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.shared_bounds import GROWTH, BoundPublisher, BoundReader, CorpusBounds
from tests.unit.topk.rows_in_memory import rows_of

NEURONS, BINS, K = 3, 8, 5
PATH = "partial/bound.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(str(tmp_path))
    rng = np.random.default_rng(0)
    for shard in range(30):
        counts = rng.integers(0, 3, (NEURONS, BINS))
        moments = Moments.empty(NEURONS)
        whole = topk_partial.shard_table({}, moments, counts, np.zeros((NEURONS, 0), np.float32))
        store.commit(shard_path(shard), partial(rows_of(whole).write, footer={}))
    return store


def shard_path(shard: int) -> str:
    return f"partial/shard-{shard:05d}.parquet"


def publisher(store: Store, warn: Callable[[str], None] = pytest.fail) -> BoundPublisher:
    edges = np.arange(NEURONS * (BINS - 1), dtype=np.float32).reshape(NEURONS, -1)
    return BoundPublisher(store, PATH, "print", CorpusBounds(edges, K, NO_DATASETS, Shards(300, 10)), shard_path, warn)


def test_what_is_posted_follows_from_the_shards_in_place(store: Store) -> None:
    board, news = publisher(store), BoundReader(store, PATH, "print", NEURONS)
    assert news() is None
    total = np.zeros((NEURONS, BINS), np.int64)
    seen = 0
    for shard in range(30):
        board.add(deque([shard]))
        total += topk_partial.read_counts(topk_partial.read_of_all(store, shard_path(shard), "histogram"))
        found = news()
        if shard + 1 > seen * GROWTH:
            assert found is not None
            for ours, expected in zip(found, histogram_bounds(total, board.shared.all.edges, K), strict=True):
                np.testing.assert_array_equal(ours, expected)
            seen = shard + 1
        else:
            assert found is None
    assert seen == 30


def test_all_shards_that_wait_are_read_together(store: Store) -> None:
    board, one_by_one = publisher(store), publisher(store)
    waiting = deque(range(30))
    board.add(waiting)
    assert (len(waiting), board.posted) == (0, 30)
    board.add(waiting)
    for shard in reversed(range(30)):
        one_by_one.add(deque([shard]))
    for ours, expected in zip(board.shared.result(), one_by_one.shared.result(), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_bounds_of_another_run_are_none(store: Store) -> None:
    publisher(store).add(deque(range(30)))
    assert BoundReader(store, PATH, "print", NEURONS)() is not None
    assert BoundReader(store, PATH, "other", NEURONS)() is None
    assert BoundReader(store, PATH, "print", NEURONS + 1)() is None


def test_bounds_of_data_sets_follow_those_of_the_corpus(store: Store) -> None:
    edges = np.arange(NEURONS * (BINS - 1), dtype=np.float32).reshape(NEURONS, -1)
    datasets = Datasets(2, ("a", "b", "c"), (105, 195, 0), ((0, 105, 0), (105, 300, 1)))
    shared = CorpusBounds(edges, K, datasets, Shards(300, 10))
    board = BoundPublisher(store, PATH, "print", shared, shard_path, pytest.fail)
    board.add(deque(range(30)))
    found = BoundReader(store, PATH, "print", NEURONS)()
    assert found is not None
    every = [topk_partial.read_counts(topk_partial.read_of_all(store, shard_path(i), "histogram")) for i in range(30)]
    none = np.zeros((NEURONS, BINS), np.int64)
    # Shard 10 is of both.
    sums = [(sum(every), K), (sum(every[:10]), 2), (sum(every[11:]), 2), (none, 2)]
    expected = [bound for counts, k in sums for bound in histogram_bounds(counts, edges, k)]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_where_a_shard_cannot_be_read_one_line_says_so_and_the_rest_goes_on(store: Store) -> None:
    said: list[str] = []
    board = publisher(store, said.append)
    store.delete(shard_path(1))
    for shard in (0, 1, 1, 2):
        board.add(deque([shard]))
    assert len(said) == 1
    assert said[0].startswith("topk: thresholds are not shared (")
    assert board.shared.all.shards == {0, 2}
