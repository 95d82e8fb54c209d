import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.literals.hubs import Hubs


@given(
    st.lists(st.sets(st.integers(0, 7), max_size=4), min_size=1, max_size=12),
    st.sets(st.integers(0, 11)),
    st.floats(0, 6),
    st.integers(1, 5),
)
def test_hubs_of_each_family_are_those_of_brute_force(
    winners: list[set[int]], family: set[int], most: float, block: int
) -> None:
    wins = np.bincount([row for own in winners for row in own], minlength=8).astype(np.int32)
    pairs = [(number, row) for number, own in enumerate(winners) for row in own]
    blocks = [np.array(pairs[i : i + block], np.int64).T for i in range(0, len(pairs), block)]
    found = Hubs.find(wins, ((numbers, rows) for numbers, rows in blocks), len(winners), most)
    own = {number for number in family if number < len(winners)}
    expected = [row for row in range(8) if sum(row in w for n, w in enumerate(winners) if n not in own) > most]
    assert found.of(np.array(sorted(own), np.int64)).tolist() == expected
