import math

import numpy as np
import pytest
import scipy.sparse as sp

from ops.meaning.counts import factorise, ppmi

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("smoothing", [0.75, 1.0])
def test_ppmi_equals_the_formula(smoothing: float) -> None:
    counts = RNG.poisson(1.0, (7, 5)) * RNG.integers(0, 9, (7, 5))
    row, column = np.nonzero(counts)
    found = ppmi(counts[row, column], row, column, counts.sum(1), counts.sum(0), smoothing)
    total = counts.sum()
    smoothed = [float(n) ** smoothing for n in counts.sum(0)]
    for value, i, j in zip(found, row, column, strict=True):
        joint, word, context = counts[i, j] / total, counts[i].sum() / total, smoothed[j] / sum(smoothed)
        assert value == pytest.approx(max(0.0, math.log(joint / (word * context))), abs=1e-12)
    assert (found > 0).any()
    assert (found == 0).any()


def test_vectors_are_those_of_the_svd_and_the_same_each_time() -> None:
    matrix = RNG.random((30, 12)) * (RNG.random((30, 12)) < 0.5)
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    found = factorise(sp.csr_matrix(matrix), 5, 1.0, 7)
    assert found.dtype == np.float32
    expected = left[:, :5] * values[:5]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)
    np.testing.assert_array_equal(found, factorise(sp.csr_matrix(matrix), 5, 1.0, 7))


def test_small_and_empty_matrices() -> None:
    zero, one, none = np.array([0]), np.array([1]), np.zeros(0, np.int64)
    assert ppmi(np.array([4]), zero, zero, np.array([4]), np.array([4, 0]), 0.75).tolist() == [0.0]
    assert ppmi(np.array([4]), zero, one, np.array([4]), np.array([0, 4]), 0.75).tolist() == [0.0]
    assert len(ppmi(none, none, none, np.zeros(3, np.int64), np.zeros(2, np.int64), 0.75)) == 0
    matrix = RNG.random((6, 3))
    found = factorise(sp.csr_matrix(matrix), 100, 1.0, 0)
    assert found.shape == (6, 3)
    np.testing.assert_allclose(found @ found.T, matrix @ matrix.T, atol=1e-5)
    assert not factorise(sp.csr_matrix((3, 2)), 5, 0.5, 0).any()
