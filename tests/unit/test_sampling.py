from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import sampling
from ops.sampling import BASELINE, LIMIT, draw, in_sample, pilot_size, priorities, random_state, sample_cutoff


def test_a_draw_is_uniform_sorted_distinct_and_of_the_size_asked_for() -> None:
    ids = draw(1000, 50, 7, BASELINE)
    assert ids.dtype == np.int64
    assert len(set(ids.tolist())) == 50
    assert (np.diff(ids) > 0).all()
    assert 0 <= ids[0] <= ids[-1] < 1000
    assert draw(5, 5, 7, BASELINE).tolist() == draw(5, 9, 7, BASELINE).tolist() == [0, 1, 2, 3, 4]
    assert draw(5, 0, 7, BASELINE).tolist() == []
    counts = np.bincount(np.concatenate([draw(20, 5, seed, LIMIT) for seed in range(800)]), minlength=20)
    assert abs(counts - 200).max() < 60


def test_draws_of_one_seed_have_nothing_to_do_with_each_other() -> None:
    purposes = {name: n for name, n in vars(sampling).items() if name[0] != "_" and isinstance(n, int)}
    assert {"BASELINE", "CONFUSION_ORDER"} <= set(purposes)
    assert len({tuple(draw(1000, 20, 0, n).tolist()) for n in purposes.values()}) == len(purposes)
    assert draw(1000, 20, 0, LIMIT).tolist() == draw(1000, 20, 0, LIMIT).tolist()
    assert draw(1000, 20, 0, LIMIT).tolist() != draw(1000, 20, 1, LIMIT).tolist()


@pytest.mark.parametrize(
    ("sentences", "at_most", "expected"),
    [(100, 4096, 100), (1000, 4096, 256), (50_000, 4096, 1000), (10**7, 4096, 4096), (1000, 10, 10), (5, 1, 1)],
)
def test_size_of_the_pilot(sentences: int, at_most: int, expected: int) -> None:
    assert pilot_size(sentences, at_most) == expected


@given(
    st.lists(st.sampled_from([0, 1, 5, 2**48, 2**48 + 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1), min_size=1),
    st.data(),
)
def test_the_sample_is_the_first_by_priority_and_then_position(values: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(values)))
    step = data.draw(st.integers(1, 5))
    priority, position = np.array(values, np.uint64), np.arange(len(values))[::-1].copy()

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(values), step):
            yield priority[start : start + step], position[start : start + step]

    chosen = in_sample(priority, position, sample_cutoff(blocks, size))
    expected = sorted(range(len(values)), key=lambda i: (values[i], int(position[i])))[:size]
    assert np.flatnonzero(chosen).tolist() == sorted(expected)


def test_the_draw_is_uniform_and_another_for_another_seed() -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, 20_000, dtype=np.uint64)
    one, other = (priorities(hashes, seed, LIMIT) for seed in (0, 1))
    assert len(np.unique(one)) == len(hashes)
    for found in (one, other):
        share = found / 2.0**64
        assert abs(share.mean() - 0.5) < 0.01
        assert np.abs(np.histogram(share, 20, (0, 1))[0] / 1_000 - 1).max() < 0.15
    both = ((one < np.uint64(2**63)) & (other < np.uint64(2**63))).mean()
    assert abs(both - 0.25) < 0.015


@given(st.integers(0, 10**15))
def test_a_seed_of_any_size_is_one_of_libraries(seed: int) -> None:
    found = random_state(seed)
    assert 0 <= found < 2**32
    assert found == seed or seed >= 2**32
    assert random_state(seed) == found
    assert len({random_state(2**32 + seed + i) for i in range(100)}) == 100
