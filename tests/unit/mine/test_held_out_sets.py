from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.mine.held_out_sets import RANDOM, HeldOutSets, Matcher, drawn_for
from ops.patterns.sequences import Sequences
from ops.sampling import draw
from tests.unit.small_corpus import open_corpus, random_sentences


def buckets(dataset: np.ndarray, lengths: np.ndarray, rows: np.ndarray, width: int) -> Counter[tuple[int, int]]:
    return Counter(zip(dataset[rows].tolist(), (lengths[rows] // width).tolist(), strict=True))


@given(st.sampled_from([1, 80, 400]), st.integers(1, 40), st.integers(0, 2**16))
def test_matching_fills_each_bucket_width_by_width(size: int, n: int, seed: int) -> None:
    """The numbers match the rule applied to one winner at a time; which rows are drawn is random."""
    rng = np.random.default_rng(seed)
    dataset, lengths = rng.integers(0, 3, size).astype(np.int32), rng.integers(1, 40, size)
    baseline = np.sort(rng.choice(size, -(-size // 2), replace=False))
    # Some winners are of the few lengths that the baseline has little of.
    lengths[baseline] = np.where(rng.random(len(baseline)) < 0.9, lengths[baseline] // 2, lengths[baseline])
    winners = np.sort(rng.choice(size, min(n, size), replace=False))
    free, left, expected = np.setdiff1d(baseline, winners).tolist(), winners.tolist(), []
    drawing = Matcher(baseline, dataset, lengths.__getitem__, 40)
    found = drawing.draw(winners, seed, 7)
    assert found.tolist() == sorted(set(found.tolist()) & set(free))
    for width in (1, 2, 4, 8, 16, 1 << 30):
        for winner in list(left):
            cell = dataset[winner], lengths[winner] // width
            fitting = [row for row in free if (dataset[row], lengths[row] // width) == cell]
            if fitting:
                expected.append(fitting[0])
                free.remove(fitting[0])
                left.remove(winner)
        # Rows found at this width are in the buckets of its winners; later ones may be anywhere.
        here, drawn = (buckets(dataset, lengths, np.array(r, int), width) for r in (expected, found))
        assert not here - drawn
    assert len(found) == len(expected)
    drawing.draw(winners[::2], seed, 6)
    assert np.array_equal(found, drawing.draw(winners, seed, 7))


def test_all_rows_of_a_bucket_are_drawn_alike() -> None:
    # Length 4: two free rows for three winners; the third takes one of the twelve of length 5, in the same bucket of 2.
    lengths = np.array([4] * 5 + [5] * 12 + [20] * 600)
    dataset, baseline, winners = np.zeros(617, np.int32), np.arange(3, 617), np.array([0, 1, 2, 17, 18])
    drawing, counts, draws = Matcher(baseline, dataset, lengths.__getitem__, 20), np.zeros(617), 6_000
    for number in range(draws):
        rows = drawing.draw(winners, 3, number)
        assert len(rows) == 5
        counts[rows] += 1
    assert counts[3:5].tolist() == [draws, draws]
    assert counts[[0, 1, 2, 17, 18]].sum() == 0
    for own, each in ((counts[5:17], draws / 12), (counts[19:], 2 * draws / 598)):
        # Chi-square: its mean is the degrees of freedom, its variance twice as much.
        freedom = len(own) - 1
        assert abs(((own - each) ** 2 / each).sum() - freedom) < 5 * np.sqrt(2 * freedom)


def test_each_winners_set_comes_with_a_matched_and_a_random_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_corpus(tmp_path, monkeypatch, random_sentences(2, 40))
    baseline = np.flatnonzero(store.baseline)
    matcher = Matcher(baseline, store.dataset, store.lengths, 30)
    winners = Sequences.from_lists([[0, 3, 9], [5, 6]])
    found = HeldOutSets(store, 4).draw(np.array([8, 11]), winners).to_lists()
    for number, own, drawn in ((8, [0, 3, 9], found[:3]), (11, [5, 6], found[3:])):
        matched = matcher.draw(np.array(own), 4, drawn_for(np.array(own)))
        random = baseline[draw(len(baseline), len(own), 4, RANDOM, number)]
        assert drawn == [own, matched.tolist(), random.tolist()]


@given(st.integers(0, 2**16), st.integers(0, 60))
def test_winners_are_compared_with_others_of_their_dataset_and_length(seed: int, others: int) -> None:
    rng = np.random.default_rng(seed)
    dataset, lengths = rng.integers(0, 3, 100).astype(np.int32), rng.integers(1, 40, 100)
    rows = np.sort(rng.choice(100, others, replace=False))
    sets = [np.sort(rng.choice(100, size, replace=False)) for size in (0, 1, 12, 30)]
    finder = Matcher(rows, dataset, lengths.__getitem__, 40)
    found = finder.similar(Sequences.from_lists([own.tolist() for own in sets]))
    at = 0
    for own, mine in zip(sets, found.rows.to_lists(), strict=True):
        assert len(set(mine)) == len(mine)
        used: set[int] = set()
        for winner in own:
            of_dataset = [row for row in np.setdiff1d(rows, own) if dataset[row] == dataset[winner]]
            like: list[int] = []
            for width in (1, 2, 4, 8, 16):
                like = like or [row for row in of_dataset if lengths[row] // width == lengths[winner] // width]
            assert sorted(mine[found.first[at] : found.stop[at]]) == like
            used |= set(like)
            at += 1
        assert used == set(mine)
    assert at == len(found.first) == len(found.stop)
