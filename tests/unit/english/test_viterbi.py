from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.english.viterbi import CHANGES, DEPTHS, LOWEST_CHANGE, best_depths, change_columns


def test_steps_name_the_change_of_depth():
    columns = change_columns()
    assert columns[4, 4] + LOWEST_CHANGE == 0
    assert columns[4, 2] + LOWEST_CHANGE == -2
    assert columns[4, 6] + LOWEST_CHANGE == 2
    assert columns[0, DEPTHS - 1] == CHANGES - 1
    assert columns[DEPTHS - 1, 0] == 0


def scores(seed, words):
    random = np.random.default_rng(seed)
    return random.normal(size=(words, DEPTHS)).astype(np.float32), random.normal(size=(words, CHANGES)).astype(
        np.float32
    )


def value(absolute, change, depths):
    total, before = 0.0, 1
    for place, depth in enumerate(depths):
        total += absolute[place, depth - 1] + change[place, change_columns()[before - 1, depth - 1]]
        before = depth
    return total


@given(st.integers(0, 2**32), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_no_other_depths_score_higher(seed, lengths):
    absolute, change = scores(seed, sum(lengths))
    absolute[:, 5:] = -1e6
    start = 0
    together = best_depths(absolute, change, lengths)
    for length in lengths:
        *found, after = together[start : start + length].tolist()
        assert after == 0
        own = absolute[start:], change[start:]
        best = max(value(*own, depths) for depths in product(range(1, 6), repeat=length - 1))
        assert value(*own, found) == pytest.approx(best, abs=1e-4)
        start += length


def test_of_equal_sums_the_lowest_depths_are_taken():
    found = best_depths(np.zeros((4, DEPTHS), np.float32), np.zeros((4, CHANGES), np.float32), [4])
    assert found.tolist() == [1, 1, 1, 0]
