import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.mine.held_out_sets import draw_others, matched_set, random_set, training_documents


def test_about_half_of_the_documents_train_by_the_seed_alone() -> None:
    first = training_documents(10_000, 3)
    assert 4_800 < first.sum() < 5_200
    assert np.array_equal(first, training_documents(10_000, 3))
    assert not np.array_equal(first, training_documents(10_000, 4))


@given(st.integers(1, 60), st.integers(0, 2**16), st.data())
@settings(deadline=None, max_examples=60)
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


def test_others_leave_the_members_out() -> None:
    assert draw_others(np.arange(6), np.array([2, 4]), 10, 0).tolist() == [0, 1, 3, 5]
    assert len(draw_others(np.arange(1_000), np.zeros(0, np.int64), 10, 0)) == 10
