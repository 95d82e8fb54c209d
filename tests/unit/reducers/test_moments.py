import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from ops.reducers.moments import Moments


def check(found: Moments, values: np.ndarray) -> None:
    wide = values.astype(np.float64)
    assert found.n == len(values)
    np.testing.assert_allclose(found.mean, wide.mean(0), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.std, wide.std(0), rtol=1e-9)
    np.testing.assert_allclose(found.skew, scipy.stats.skew(wide), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.kurtosis, scipy.stats.kurtosis(wide), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(found.min, values.min(0))
    np.testing.assert_array_equal(found.max, values.max(0))


@given(st.integers(0, 2**32), st.lists(st.integers(0, 40), max_size=5), st.sampled_from([0.0, 3.0, -1000.0]))
def test_merged_parts_are_the_moments_of_the_whole(seed: int, sizes: list[int], shift: float) -> None:
    rng = np.random.default_rng(seed)
    parts = [(rng.standard_t(3, (n, 4)) + shift).astype(np.float32) for n in [*sizes, 20]]
    merged, backwards = Moments.empty(4), Moments.empty(4)
    for part in parts:
        merged = merged.update(torch.from_numpy(part))
    for part in reversed(parts):
        backwards = Moments.of(torch.from_numpy(part)).merge(backwards)
    check(merged, np.concatenate(parts))
    check(backwards, np.concatenate(parts))


def test_a_tree_of_merges_keeps_the_digits_of_a_far_mean() -> None:
    values = (np.random.default_rng(1).normal(5000, 0.01, (4096, 2))).astype(np.float32)
    blocks = [Moments.of(torch.from_numpy(block)) for block in np.split(values, 64)]
    while len(blocks) > 1:
        blocks = [a.merge(b) for a, b in zip(blocks[::2], blocks[1::2], strict=True)]
    check(blocks[0], values)


def test_a_constant_neuron_has_no_shape() -> None:
    blocks = [Moments.of(torch.full((n, 1), 0.1)) for n in (3, 7, 1)]
    found = blocks[0].merge(blocks[1]).merge(blocks[2])
    assert found.std.tolist() == [0.0]
    assert found.mean.tolist() == pytest.approx([float(np.float32(0.1))], rel=1e-15)
    assert np.isnan(found.skew).all()
    assert np.isnan(found.kurtosis).all()


def test_empty_is_neutral() -> None:
    some = Moments.of(torch.arange(6.0).view(3, 2))
    assert Moments.empty(2).merge(some) is some
    assert some.merge(Moments.of(torch.zeros(0, 2))) is some
    nothing = Moments.empty(2).merge(Moments.empty(2))
    assert nothing.n == 0
    assert np.isnan(nothing.skew).all()
