import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.reducers.integer_sums import Sums

NUMBERS = st.lists(st.integers(0, 500), min_size=1, max_size=40)


@given(NUMBERS)
def test_mean_and_std_are_numpys(numbers):
    sums = Sums.of(numbers)
    assert (sums.n, sums.mean) == (len(numbers), pytest.approx(np.mean(numbers)))
    assert sums.std == pytest.approx(np.std(numbers), abs=1e-9)


@given(NUMBERS, NUMBERS)
def test_parts_add_up_and_come_off_exactly(one, other):
    both = Sums.of(one).merge(Sums.of(other))
    assert both == Sums.of(one + other) == Sums.of(other).merge(Sums.of(one))
    assert both.without(Sums.of(other)) == Sums.of(one)
    assert both.merge(Sums()) == both


def test_nothing_has_no_mean():
    assert math.isnan(Sums.of([]).mean)
    assert math.isnan(Sums().std)
