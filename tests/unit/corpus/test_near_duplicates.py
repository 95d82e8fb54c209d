import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.corpus.near_duplicates import (
    WINDOW,
    candidate_pairs,
    distinct_pairs,
    representatives,
    similar_pairs,
    similarity,
    without_dropped,
)

PAIRS = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)).filter(lambda p: p[0] < p[1]), max_size=40)


def sorted_pairs(pairs: list[tuple[int, int]]) -> np.ndarray:
    return distinct_pairs(np.array(pairs, np.int64).reshape(-1, 2))


@given(st.lists(st.lists(st.sampled_from([0, 1, 2**63, 2**64 - 1]), max_size=3, unique=True), max_size=25), st.data())
def test_candidate_pairs_are_each_bucket_s_first_and_neighbours(texts: list[list[int]], data: st.DataObject) -> None:
    rows = [(bucket, 3 * text) for text, buckets in enumerate(texts) for bucket in buckets]
    rows = data.draw(st.permutations(rows))
    expected = set()
    for bucket in {b for b, _ in rows}:
        held = sorted(text for b, text in rows if b == bucket)
        for place, text in enumerate(held):
            expected |= {(before, text) for before in {*held[max(place - WINDOW, 0) : place], *held[: min(place, 1)]}}
    hashes, position = np.array([b for b, _ in rows], np.uint64), np.array([t for _, t in rows], np.int64)
    found = candidate_pairs(hashes, position)
    assert found.shape == (len(expected), 2)
    assert list(map(tuple, found.tolist())) == sorted(expected, key=lambda p: (p[1], p[0]))


@given(PAIRS)
def test_each_is_dropped_for_the_first_kept_one_that_it_is_similar_to(pairs: list[tuple[int, int]]) -> None:
    found = representatives(15, sorted_pairs(pairs)).tolist()
    expected: list[int] = []
    for text in range(15):
        kept = [one for one, other in sorted(pairs) if other == text and expected[one] == one]
        expected.append(kept[0] if kept else text)
    assert found == expected
    assert not any(found[one] == one and found[other] == other for one, other in pairs)


def test_chance_agreement_counts_as_none() -> None:
    one, other = np.random.default_rng(0).integers(0, 256, (2, 4000, 128), dtype=np.uint8)
    assert abs(similarity(one, other).mean()) < 0.001
    other[:, :64] = one[:, :64]
    assert abs(similarity(one, other).mean() - 0.5) < 0.002
    assert similarity(one, one).tolist() == [1.0] * 4000


def test_a_pair_is_similar_from_the_threshold_on() -> None:
    signatures = np.zeros((3, 128), np.uint8)
    signatures[1, :32] = 1
    signatures[2, :33] = 1
    one, others = np.array([0, 0, 0, 1]), signatures[[0, 1, 2, 2]]
    exact = float(similarity(signatures[:1], signatures[1:2])[0])
    assert similar_pairs(signatures, one, others, exact).tolist() == [True, True, False, True]
    assert similar_pairs(signatures, one, others, 1.0).tolist() == [True, False, False, False]
    assert similar_pairs(signatures, one[:0], others[:0], 0.5).tolist() == []


@given(PAIRS, st.data())
def test_the_dropped_go_and_what_is_kept_counts_for_them(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    first = representatives(15, sorted_pairs(pairs))
    copies = np.arange(1, 16) ** 2
    total = np.bincount(first, copies, 15).astype(np.int64)
    grouped = np.flatnonzero((np.bincount(first, minlength=15) > 1) | (first != np.arange(15)))
    low, high = sorted((data.draw(st.integers(0, 14)), data.draw(st.integers(0, 14))))
    texts = np.arange(low, high + 1)[:: data.draw(st.integers(1, 3))]
    near = grouped[(grouped >= low) & (grouped <= high)]
    kept, counts = without_dropped(texts, copies[texts], (near, first[near], total[first[near]]))
    assert kept.tolist() == (first[texts] == texts).tolist()
    assert counts[kept].tolist() == total[texts[kept]].tolist()
