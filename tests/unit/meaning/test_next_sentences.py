import numpy as np
import pytest

from ops.meaning.drawn_sentences import DISTANCE, find_pairs, other_documents
from ops.meaning.sentence_tasks import OTHER, SAME, next_rows

RNG = np.random.default_rng(0)


def test_the_next_sentence_is_the_next_place_of_the_same_document() -> None:
    documents = RNG.integers(0, 12, 300)
    places = np.concatenate([np.arange(300)[:150], np.arange(300)[:150]])
    rows = RNG.permutation(300)
    documents, places = documents[rows], places[rows]
    first, following, distant, order = find_pairs(np.arange(1_000, 1_300), documents, places, 0)
    expected = {
        (i, j)
        for i in range(300)
        for j in range(300)
        if documents[i] == documents[j] and places[j] == places[i] + 1 and (documents == documents[i]).sum() > 2
    }
    # If a place occurs twice, one of the two is used.
    assert {int(i) for i in first} <= {i for i, _ in expected}
    assert set(zip(first.tolist(), following.tolist(), strict=True)) <= expected
    for row, same in zip(first, distant, strict=True):
        far = (documents == documents[row]) & (np.abs(places - places[row]) >= DISTANCE)
        assert far[same] if same >= 0 else not far.any()
    assert (np.diff(order.astype(object)) >= 0).all()


def test_all_pairs_of_a_plain_document_are_found_and_each_distant_sentence_is_as_likely() -> None:
    first, following, same, _ = find_pairs(np.arange(6_000), np.arange(6_000) // 8, np.arange(6_000) % 8, 1)
    assert len(first) == 750 * 7
    assert (following == first + 1).all()
    for place in range(7):
        counts = np.bincount(same[first % 8 == place] % 8, minlength=8)
        far = [other for other in range(8) if abs(other - place) >= 3]
        assert np.flatnonzero(counts).tolist() == far
        assert counts[far].min() > 0.6 * 750 / len(far)


def test_short_documents_have_no_distant_sentence_and_gaps_are_no_pairs() -> None:
    first, _, same, _ = find_pairs(np.arange(7), np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2, 3]), 0)
    by_first = dict(zip(first.tolist(), same.tolist(), strict=True))
    assert by_first == {0: -1, 1: -1, 3: 6, 4: -1, 5: -1}
    # Sentences between two kept ones may be missing, for example because they were duplicates.
    first, _, same, _ = find_pairs(np.arange(4), np.zeros(4, np.int64), np.array([0, 1, 2, 7]), 0)
    assert dict(zip(first.tolist(), same.tolist(), strict=True)) == {0: 3, 1: 3}
    assert len(find_pairs(np.arange(4), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 0)[0]) == 0
    assert len(find_pairs(np.arange(3), np.zeros(3, np.int64), np.array([0, 2, 4]), 0)[0]) == 0
    assert len(find_pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), 0)[0]) == 0


def test_the_other_pair_is_of_another_document() -> None:
    documents = [f"d{i // 3}" for i in range(60)]
    others = other_documents(documents, 0)
    assert all(documents[i] != documents[j] for i, j in enumerate(others))
    assert other_documents(["a"] * 5, 0).tolist() == [-1] * 5
    assert (others != other_documents(documents, 1)).any()


def test_areas_tell_what_was_planted_and_shuffled_is_at_chance() -> None:
    n = 3_000
    documents = [f"d{i // 4}" for i in range(n)]
    first = RNG.normal(size=(n, 3)).astype(np.float32)
    near = np.stack([first, first + np.array([1.5, 0, 0], np.float32)], 2)
    near[:50, 2, 0] = np.nan
    found, _ = next_rows({"cosine": near, "tokens": RNG.random((n, 3)).astype(np.float32)}, documents, 0)
    rows = {(r["space"], r["against"]): r for r in found}
    assert rows["layer:2", SAME]["auc"] == pytest.approx(0.856, abs=0.02)  # Phi(1.5 / sqrt 2)
    for space in ("layer:1", "tokens", "shuffled"):
        for against in (SAME, OTHER):
            own = rows[space, against]
            assert own["low"] - 0.01 < 0.5 < own["high"] + 0.01
            assert own["high"] - own["low"] < 0.05
    assert rows["shuffled", SAME]["low"] < 0.5 < rows["shuffled", SAME]["high"]
    assert rows["layer:1", OTHER]["n"] == n - 50
    assert rows["layer:1", SAME]["documents"] == n // 4
    few = {"cosine": near[:30], "tokens": near[:30, :, 0]}
    assert next_rows(few, ["a"] * 30, 0) == ([], 0)
    assert next_rows({name: values[:5] for name, values in few.items()}, list("abcde"), 0) == ([], 0)
