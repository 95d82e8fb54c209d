import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.patterns.sequences import Sequences

LISTS = st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=8)


@given(LISTS)
def test_lists_come_back_as_they_went_in(lists):
    sequences = Sequences.from_lists(lists)
    assert sequences.to_lists() == lists
    assert len(sequences) == len(lists)
    assert sequences.lengths.tolist() == [len(row) for row in lists]
    assert (sequences.items.dtype, sequences.offsets.dtype) == (np.int32, np.int64)


@given(LISTS, st.data())
def test_take_follows_indices_and_bools(lists, data):
    sequences = Sequences.from_lists(lists)
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1)) if lists else st.just([]))
    assert sequences.take(np.array(rows, dtype=np.int64)).to_lists() == [lists[row] for row in rows]
    marks = data.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    kept = [row for row, mark in zip(lists, marks, strict=True) if mark]
    assert sequences.take(np.array(marks, dtype=bool)).to_lists() == kept


@given(LISTS, st.sets(st.integers(0, 5)))
def test_what_is_left_closes_up(lists, dropped):
    sequences = Sequences.from_lists(lists)
    found = sequences.where(~np.isin(sequences.items, list(dropped)))
    assert found.to_lists() == [[item for item in row if item not in dropped] for row in lists]


def test_offsets_that_do_not_span_the_items_are_refused():
    for offsets in ([], [0], [1, 2], [0, 3]):
        with pytest.raises(ValueError, match="offsets must begin with 0"):
            Sequences(np.zeros(2, np.int32), np.array(offsets, np.int64))


@given(st.lists(LISTS, max_size=3))
def test_parts_follow_each_other(parts):
    found = Sequences.concatenate([Sequences.from_lists(part) for part in parts])
    assert found.to_lists() == [row for part in parts for row in part]
    assert (found.items.dtype, found.offsets.dtype) == (np.int32, np.int64)


def test_patterns_follow_their_whole_line_of_parents():
    found = Sequences.from_parents(np.array([-1, 0, 1, -1, 3]), np.array([5, 6, 7, 8, 5]))
    assert found.to_lists() == [[5], [5, 6], [5, 6, 7], [8], [8, 5]]
    assert (found.items.dtype, found.offsets.dtype) == (np.int32, np.int64)
    assert Sequences.from_parents(np.zeros(0, np.int64), np.zeros(0, np.int64)).to_lists() == []


def test_taking_a_few_looks_at_no_others() -> None:
    many = Sequences(np.arange(1_000_000, dtype=np.int32), np.arange(1_000_001))
    tracemalloc.start()
    try:
        assert many.take([7, 5]).to_lists() == [[7], [5]]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000
