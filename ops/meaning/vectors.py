"""Conversion of context counts to vectors: positive pointwise mutual information and truncated SVD."""

import numpy as np
import scipy.sparse as sp

from ops.arrays import Float32s, Float64s, Int64s
from ops.sampling import random_state

_OVERSAMPLES, _ITERATIONS = 20, 7


def ppmi(
    count: Int64s, row: Int64s, column: Int64s, row_sums: Int64s, column_sums: Int64s, smoothing: float
) -> Float64s:
    """Return the positive pointwise mutual information of pairs, in nats (Levy, Goldberg and Dagan 2015).

    The value is max(0, ln(P(w, c) / (P(w) P_s(c)))). P(w, c) is the pair's share of all pairs, and P(w) is the word's
    share. P_s(c) is the context word's share after counts are raised to the power `smoothing`, which is 0.75 in the
    paper; 1 leaves the counts unchanged.

    Args:
        count: the count of each pair, `[pairs]`.
        row, column: the index of each pair's word and of its context word, `[pairs]`.
        row_sums, column_sums: the sum of counts over all pairs of each word, `[words]`, and of each context word,
            `[contexts]`.
        smoothing: the exponent.

    >>> two = np.array([0, 1]), np.array([0, 1]), np.array([3, 3]), np.array([3, 3])
    >>> ppmi(np.array([3, 3]), *two, 0.75).round(3).tolist()
    [0.693, 0.693]
    """
    smoothed = np.maximum(column_sums.astype(np.float64) ** smoothing, 1e-300)
    # ln(count / row_sum) - ln(share of the context word): the total number of pairs cancels.
    share = np.log(smoothed) - np.log(smoothed.sum()) if len(smoothed) else smoothed
    return np.asarray(np.maximum(np.log(count) - np.log(row_sums[row].astype(np.float64)) - share[column], 0.0))


def factorise(matrix: sp.csr_matrix, dimensions: int, power: float, seed: int) -> Float32s:
    """Return a vector for each row of a sparse matrix, `[rows, dimensions]` float32: U S^power of its truncated SVD.

    This function uses scikit-learn's randomized SVD (Halko, Martinsson and Tropp 2011) on one thread, so that every run
    gives the same bits. The vectors have fewer dimensions if the matrix has fewer rows or columns.

    Args:
        matrix: the sparse matrix, `[rows, columns]`.
        dimensions: maximum number of dimensions.
        power: the exponent of the singular values. 1 preserves the rows' inner products best; 0.5 and less give the
            first dimensions less weight.
        seed: the seed of the random projection.
    """
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    wanted = min(dimensions, *matrix.shape)
    with threadpool_limits(1):
        left, values, _ = randomized_svd(
            matrix, wanted, n_oversamples=_OVERSAMPLES, n_iter=_ITERATIONS, random_state=random_state(seed)
        )
    return np.asarray(left * values**power, np.float32)
