from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.patterns.prefixspan_package import mine
from ops.patterns.sequences import Sequences


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=6), st.integers(1, 3), st.integers(1, 4))
def test_it_finds_every_frequent_subsequence_once_in_order(sentences, min_support, max_length):
    support: dict[tuple[int, ...], int] = {}
    for row in sentences:
        for pattern in {tuple(c) for size in range(1, max_length + 1) for c in combinations(row, size)}:
            support[pattern] = support.get(pattern, 0) + 1
    wanted = [entry for entry in support.items() if entry[1] >= min_support]
    found = mine(Sequences.from_lists(sentences), min_support, max_length)
    assert found == sorted(wanted, key=lambda entry: (-entry[1], entry[0]))


@pytest.mark.parametrize(("support", "length"), [(0, 2), (2, 0)])
def test_a_limit_below_1_is_refused(support, length):
    with pytest.raises(ValueError, match="at least 1"):
        mine(Sequences.from_lists([[1]]), support, length)
