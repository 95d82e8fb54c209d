import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.statistics.empirical_p import empirical_p


@given(
    own=st.lists(st.integers(-3, 3), min_size=1, max_size=5),
    random=st.lists(st.integers(-3, 3), min_size=1, max_size=9),
)
def test_p_counts_those_that_are_as_large(own: list[int], random: list[int]) -> None:
    found = empirical_p(np.array(own, float), np.array([*random, np.nan], float))
    assert found.tolist() == [(1 + sum(r >= value for r in random)) / (1 + len(random)) for value in own]
