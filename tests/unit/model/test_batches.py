from itertools import combinations, pairwise
from math import inf

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.model.batches import length_batches


@given(st.lists(st.integers(0, 600), max_size=80), st.integers(1, 1500))
@settings(deadline=None)
def test_every_row_once_within_the_budget_and_longest_first(lengths: list[int], budget: int) -> None:
    batches = [rows.tolist() for rows in length_batches(np.array(lengths, np.int32), budget)]
    flat = [row for rows in batches for row in rows]
    assert flat == sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    for rows in batches:
        assert rows
        assert len(rows) == 1 or max(lengths[row] for row in rows) * len(rows) <= budget


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.integers(1, 400))
@settings(deadline=None)
def test_no_other_cut_costs_less(lengths: list[int], budget: int) -> None:
    ordered = sorted(lengths, reverse=True)

    def cost(cuts: tuple[int, ...]) -> float:
        total = 0
        for start, stop in pairwise((0, *cuts, len(ordered))):
            tokens = ordered[start] * (stop - start)
            if stop - start > 1 and tokens > budget:
                return inf
            total += tokens + max(budget // 64, 1)
        return total

    inner = range(1, len(ordered))
    least = min(cost(cuts) for n in range(len(ordered)) for cuts in combinations(inner, n))
    sizes = [len(rows) for rows in length_batches(np.array(lengths), budget)]
    assert cost(tuple(np.cumsum(sizes)[:-1])) == least


def test_batches_are_filled_until_padding_costs_more() -> None:
    lengths = np.array([100] * 10 + [99] * 3 + [90] * 4 + [20] * 10)
    assert [len(rows) for rows in length_batches(lengths, 2_048)] == [13, 4, 10]
    assert [len(rows) for rows in length_batches(lengths, 1_024)] == [10, 3, 4, 10]


def test_any_kind_of_integer_will_do() -> None:
    expected = [[0, 1], [2]]
    for kind in (np.uint8, np.int16, np.int64):
        assert [rows.tolist() for rows in length_batches(np.array([4, 4, 1], kind), 8)] == expected
