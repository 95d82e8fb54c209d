import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.corpus.exact_duplicates import earlier_sentences, first_copies, hash_range

HALF = st.sampled_from([0, 1, 2, 2**63, 2**64 - 1])


@given(st.lists(st.tuples(HALF, HALF), max_size=60))
def test_first_places_and_copies_of_each_text(hashes: list[tuple[int, int]]) -> None:
    halves = np.array(hashes, np.uint64).reshape(-1, 2)
    first, copies = first_copies(halves[:, 0], halves[:, 1])
    seen: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(hashes):
        seen.setdefault(pair, []).append(place)
    assert first.tolist() == [places[0] for places in seen.values()]
    assert copies.tolist() == [len(places) for places in seen.values()]
    assert first.dtype == copies.dtype == np.int64


@given(st.lists(st.tuples(HALF, HALF, st.integers(0, 1), st.integers(1, 9)), max_size=40))
def test_a_document_goes_on_where_its_earlier_runs_ended(runs: list[tuple[int, int, int, int]]) -> None:
    columns = np.array([run[:2] for run in runs], np.uint64).reshape(-1, 2)
    source, sentences = (np.array([run[i] for run in runs], np.int64) for i in (2, 3))
    found = earlier_sentences(columns[:, 0], columns[:, 1], source, sentences)
    seen: dict[tuple[int, int, int], int] = {}
    expected = []
    for high, low, owner, count in runs:
        expected.append(seen.get((high, low, owner), 0))
        seen[high, low, owner] = expected[-1] + count
    assert found.tolist() == expected


@given(st.integers(1, 50))
def test_ranges_of_hashes_cover_every_hash_once(parts: int) -> None:
    ranges = [hash_range(part, parts) for part in range(parts)]
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 2**64 - 1
    assert all(a[1] + 1 == b[0] for a, b in itertools.pairwise(ranges))
