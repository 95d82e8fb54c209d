"""The thresholds that workers share: when they are posted, what they follow from, whom they are for."""

from collections import deque
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from jobs.steps.topk.thresholds import BoundPublisher, BoundReader, is_due

from jobs.stage.layout import pilot_file, shard_file
from ops.reducers.moments import Moments
from ops.reducers.thresholds import histogram_bounds
from ops.storage.store import Store, shard_footer
from ops.topk import partial_file as topk_partial

NEURONS, BINS, K = 3, 8, 5


def test_every_one_of_the_first_shards_brings_new_bounds_and_then_one_in_twenty() -> None:
    posted, due = 0, []
    for counted in range(1, 821):
        if is_due(counted, posted):
            posted = counted
            due.append(counted)
    assert due[:20] == list(range(1, 21))
    assert due[-1] > 780
    assert max(b / a for a, b in pairwise(due[20:])) < 1.1
    assert len(due) < 100


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(str(tmp_path))
    edges = np.arange(NEURONS * (BINS - 1), dtype=np.float32).reshape(NEURONS, -1)
    rng = np.random.default_rng(0)
    table = pa.table({"edges": topk_partial.by_neuron(edges)})
    store.commit(
        pilot_file().path, lambda path: topk_partial.write_table(path, table, shard_footer("print", "pilot", 3))
    )
    for shard in range(30):
        counts = rng.integers(0, 3, (NEURONS, BINS))
        moments = Moments.empty(NEURONS)
        whole = topk_partial.shard_table({}, moments, counts, np.zeros((NEURONS, 0), np.float32))
        footer = shard_footer("print", f"shard-{shard}", NEURONS)
        store.commit(shard_file("topk", shard).path, lambda path: topk_partial.write_table(path, whole, footer))  # noqa: B023
    return store


def test_what_is_posted_follows_from_the_shards_in_place(store: Store) -> None:
    board, news = BoundPublisher(store, "print", K), BoundReader(store, "print", NEURONS)
    assert news() is None
    total = np.zeros((NEURONS, BINS), np.int64)
    seen = 0
    for shard in range(30):
        board.add([shard])
        with store.parquet(shard_file("topk", shard).path) as file:
            total += topk_partial.read_counts(file.read(columns=["histogram"]))
        found = news()
        if is_due(shard + 1, seen):
            assert found is not None
            for ours, expected in zip(found, histogram_bounds(total, board.shared.edges, K), strict=True):
                np.testing.assert_array_equal(ours, expected)
            seen = shard + 1
        else:
            assert found is None
    assert seen == 30


def test_all_shards_that_wait_are_read_together(store: Store) -> None:
    board, one_by_one = BoundPublisher(store, "print", K), BoundPublisher(store, "print", K)
    waiting = deque(range(30))
    board.add_all(waiting)
    assert (len(waiting), board.posted) == (0, 30)
    board.add_all(waiting)
    for shard in reversed(range(30)):
        one_by_one.add([shard])
    for ours, expected in zip(board.shared.result(), one_by_one.shared.result(), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_bounds_of_another_run_are_none(store: Store) -> None:
    BoundPublisher(store, "print", K).add(range(30))
    assert BoundReader(store, "print", NEURONS)() is not None
    assert BoundReader(store, "other", NEURONS)() is None
    assert BoundReader(store, "print", NEURONS + 1)() is None
