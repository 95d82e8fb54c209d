import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ops.mine.support import support_count


@given(st.integers(0, 1000), st.integers(0, 20_000), st.integers(0, 50))
def test_it_is_the_least_count_with_the_share(per_mille, n, min_count):
    wanted = math.ceil(Fraction(per_mille, 1000) * n)
    assert support_count(per_mille / 1000, n, min_count) == max(wanted, min_count, 1)


def test_very_small_shares_are_read_too():
    assert support_count(1e-05, 250_000, 0) == 3
