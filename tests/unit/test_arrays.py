"""Numbering values finds what numpy's sort finds, whether values are dense or far apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.arrays import distinct


@given(st.lists(st.integers(0, 40) | st.integers(0, 1 << 20), max_size=30), st.sampled_from([np.int32, np.int64]))
def test_values_are_numbered_as_numpy_does(values: list[int], dtype: type) -> None:
    found, place = distinct(np.array(values, dtype))
    expected, places = np.unique(np.array(values, np.int64), return_inverse=True)
    assert found.tolist() == expected.tolist()
    assert place.tolist() == places.tolist()


def test_many_equal_values_are_numbered() -> None:
    found, place = distinct(np.repeat([7, 3], 1_000))
    assert found.tolist() == [3, 7]
    assert place.tolist() == [1] * 1_000 + [0] * 1_000
