from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.mine.held_out_sets import (
    MATCHED,
    HeldOutSets,
    draw_others,
    matched_set,
    others_of,
    random_set,
    training_documents,
)
from ops.patterns.sequences import Sequences
from tests.unit.small_corpus import open_corpus, random_sentences


def test_about_half_of_the_documents_train_by_the_seed_alone() -> None:
    first = training_documents(10_000, 3)
    assert 4_800 < first.sum() < 5_200
    assert np.array_equal(first, training_documents(10_000, 3))
    assert not np.array_equal(first, training_documents(10_000, 4))


@given(st.integers(1, 60), st.integers(0, 2**16), st.data())
@settings(max_examples=60)
def test_a_matched_set_has_the_winners_datasets_and_nearest_lengths(n: int, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    dataset = rng.integers(0, 3, 200).astype(np.int32)
    lengths = rng.integers(1, 30, 200)
    baseline = np.sort(rng.choice(200, data.draw(st.integers(1, 200)), replace=False))
    winners = np.sort(rng.choice(200, n, replace=False))
    found = matched_set(winners, baseline, dataset, lengths, seed, 5)
    assert len(set(found.tolist())) == len(found) <= n
    assert set(found.tolist()) <= set(baseline.tolist()) - set(winners.tolist())
    free = np.setdiff1d(baseline, winners)
    for code in range(3):
        wanted, had = (dataset[winners] == code).sum(), (dataset[free] == code).sum()
        assert (dataset[found] == code).sum() == min(wanted, had)
        # As many as can be have exactly the winners' lengths.
        for length in range(1, 30):
            exact = min(
                ((dataset[winners] == code) & (lengths[winners] == length)).sum(),
                ((dataset[free] == code) & (lengths[free] == length)).sum(),
            )
            assert ((dataset[found] == code) & (lengths[found] == length)).sum() >= exact
    assert np.array_equal(found, matched_set(winners, baseline, dataset, lengths, seed, 5))


def test_a_random_set_is_uniform_over_the_baseline() -> None:
    baseline = np.arange(100, 120)
    counts = np.zeros(200)
    for number in range(400):
        rows = random_set(baseline, 5, 0, number)
        assert len(set(rows.tolist())) == 5
        counts[rows] += 1
    assert counts[:100].sum() == counts[120:].sum() == 0
    assert 60 < counts[100:120].min() <= counts[100:120].max() < 140
    assert np.array_equal(random_set(baseline, 50, 0, 1), baseline)


def test_matching_takes_the_first_of_each_cell_width_by_width() -> None:
    """Against the rule spelled out one winner at a time, with the same draws."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        dataset, lengths = rng.integers(0, 3, 80).astype(np.int32), rng.integers(1, 40, 80)
        baseline, winners = (np.sort(rng.choice(80, n, replace=False)) for n in (50, 20))
        draw = np.random.default_rng([seed, MATCHED, 7])
        free = draw.permutation(np.setdiff1d(baseline, winners)).tolist()
        left, found = draw.permutation(winners).tolist(), []
        for width in (1, 2, 4, 8, 16, 1 << 30):
            for winner in list(left):
                cell = dataset[winner], lengths[winner] // width
                fitting = [row for row in free if (dataset[row], lengths[row] // width) == cell]
                if fitting:
                    found.append(fitting[0])
                    free.remove(fitting[0])
                    left.remove(winner)
        assert matched_set(winners, baseline, dataset, lengths, seed, 7).tolist() == sorted(found)


def test_each_winners_set_comes_with_a_matched_and_a_random_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_corpus(tmp_path, monkeypatch, random_sentences(2, 40))
    baseline, every = np.flatnonzero(store.baseline), np.arange(40)
    winners = Sequences.from_lists([[0, 3, 9], [5, 6]])
    found = HeldOutSets(store, 4).draw(np.array([8, 11]), winners).to_lists()
    for number, own, drawn in ((8, [0, 3, 9], found[:3]), (11, [5, 6], found[3:])):
        matched = matched_set(np.array(own), baseline, store.dataset, store.lengths(every), 4, number)
        assert drawn == [own, matched.tolist(), random_set(baseline, len(own), 4, number).tolist()]


def test_others_are_drawn_once_and_leave_the_members_out() -> None:
    assert draw_others(np.arange(6), 10, 0).tolist() == list(range(6))
    assert len(draw_others(np.arange(1_000), 10, 0)) == 10
    found = others_of(np.array([1, 2, 5, 8]), Sequences.from_lists([[2, 4, 8], [], [0, 9]]))
    assert found.to_lists() == [[1, 5], [1, 2, 5, 8], [1, 2, 5, 8]]
    assert others_of(np.zeros(0, np.int64), Sequences.from_lists([[2], []])).to_lists() == [[], []]
