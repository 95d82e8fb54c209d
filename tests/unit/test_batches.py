import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.batches import length_batches


@given(st.lists(st.integers(0, 600), max_size=80), st.integers(1, 1500))
@settings(deadline=None)
def test_every_row_once_within_the_budget_and_longest_first(lengths: list[int], budget: int) -> None:
    batches = [rows.tolist() for rows in length_batches(np.array(lengths, np.int32), budget)]
    flat = [row for rows in batches for row in rows]
    assert flat == sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    for rows in batches:
        assert rows
        assert len(rows) == 1 or max(lengths[row] for row in rows) * len(rows) <= budget


@pytest.mark.parametrize(("budget", "sizes"), [(10, [1, 2, 2]), (6, [1, 1, 1, 2]), (1, [1, 1, 1, 1, 1])])
def test_batches_are_filled(budget: int, sizes: list[int]) -> None:
    assert [len(rows) for rows in length_batches(np.array([3, 12, 4, 5, 2]), budget)] == sizes


def test_any_kind_of_integer_will_do() -> None:
    expected = [[1, 0], [2]]
    for kind in (np.uint8, np.int16, np.int64):
        assert [rows.tolist() for rows in length_batches(np.array([3, 4, 1], kind), 8)] == expected
