import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.patterns.prefixspan_package import mine
from ops.patterns.sequences import Sequences
from tests.unit.patterns.test_mine_sequences import SENTENCES, brute_force


@given(SENTENCES, st.integers(1, 3), st.integers(1, 5))
def test_it_finds_every_frequent_subsequence_once_in_order(sentences, min_support, max_length):
    wanted = brute_force(sentences, min_support, max_length, -1).items()
    found = mine(Sequences.from_lists(sentences), min_support, max_length)
    assert found == sorted(wanted, key=lambda entry: (-entry[1], entry[0]))


def test_a_limit_below_1_is_refused():
    for support, length in ((0, 2), (2, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            mine(Sequences.from_lists([[1]]), support, length)
