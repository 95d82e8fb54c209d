import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ops.reducers.grouped_moments import GroupedMoments, GroupedSums

VOCABULARY, COLUMNS = 12, 3


def draw(seed: int, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, VOCABULARY - 2, tokens), rng.lognormal(size=(tokens, COLUMNS)).astype(np.float32)


def measure(ids: np.ndarray, values: np.ndarray, cuts: tuple[int, ...] = ()) -> GroupedMoments:
    sums = GroupedSums(VOCABULARY, COLUMNS)
    for own, block in zip(np.split(ids, cuts), np.split(values, cuts), strict=True):
        sums.update(torch.from_numpy(own), torch.from_numpy(block))
    return sums.result()


def check(found: GroupedMoments, ids: np.ndarray, values: np.ndarray) -> None:
    assert found.ids.tolist() == sorted(set(ids.tolist()))
    for i, token in enumerate(found.ids):
        own = values[ids == token].astype(np.float64)
        assert found.count[i] == len(own)
        np.testing.assert_allclose(found.mean[i], own.mean(0), rtol=1e-12)
        np.testing.assert_allclose(found.std[i], own.std(0), rtol=1e-6, atol=1e-6)


@given(st.integers(0, 200), st.integers(1, 60), st.lists(st.integers(0, 60), max_size=4))
def test_any_split_into_batches_and_groups_is_brute_force(seed: int, tokens: int, cuts: list[int]) -> None:
    ids, values = draw(seed, tokens)
    places = tuple(sorted(min(c, tokens) for c in cuts))
    check(measure(ids, values, places), ids, values)
    merged = [GroupedMoments.empty(COLUMNS)] * 2
    for own, block in zip(np.split(ids, places), np.split(values, places), strict=True):
        parts = measure(own, block), GroupedMoments.of(own, torch.from_numpy(block))
        merged = [before.merge(part) for before, part in zip(merged, parts, strict=True)]
    for found in merged:
        check(found, ids, values)
    check(merged[0].joined(), np.zeros_like(ids), values)


def test_empty_is_neutral() -> None:
    found = measure(*draw(1, 30))
    for same in (found.merge(GroupedMoments.empty(COLUMNS)), GroupedMoments.empty(COLUMNS).merge(found)):
        assert np.array_equal(same.ids, found.ids)
        assert np.array_equal(same.count, found.count)
        assert np.array_equal(same.mean, found.mean)
        assert np.array_equal(same.m2, found.m2)
    assert len(measure(*draw(1, 0)).ids) == 0


def test_a_million_equal_values_have_no_spread() -> None:
    ids, values = torch.zeros(10_000, dtype=torch.int64), torch.full((10_000, 1), 1.2345678)
    sums = GroupedSums(1, 1)
    for _ in range(100):
        sums.update(ids, values)
    found = sums.result()
    assert found.count.tolist() == [1_000_000]
    assert found.mean[0, 0] == pytest.approx(float(np.float32(1.2345678)), rel=1e-12)
    assert found.std[0, 0] < 1e-6
