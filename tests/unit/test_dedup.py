import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.dedup import first_copies

HALF = st.sampled_from([0, 1, 2, 2**63, 2**64 - 1])


@given(st.lists(st.tuples(HALF, HALF), max_size=60))
@settings(deadline=None)
def test_first_places_and_copies_of_each_text(hashes: list[tuple[int, int]]) -> None:
    halves = np.array(hashes, np.uint64).reshape(-1, 2)
    first, copies = first_copies(halves[:, 0], halves[:, 1])
    seen: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(hashes):
        seen.setdefault(pair, []).append(place)
    assert first.tolist() == [places[0] for places in seen.values()]
    assert copies.tolist() == [len(places) for places in seen.values()]
    assert first.dtype == copies.dtype == np.int64
