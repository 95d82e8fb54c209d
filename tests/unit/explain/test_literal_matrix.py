import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.literal_matrix import LiteralMatrix
from tests.unit.labelled_sentences import occurrences


@given(st.integers(0, 12), st.integers(0, 9), st.floats(0, 1), st.integers(0, 100))
def test_counts_are_those_of_a_dense_matrix(n: int, literals: int, rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dense, order = rng.random((literals, n)) < rate, rng.permutation(n)
    matrix, dense = LiteralMatrix(occurrences(dense.T), order), dense[:, order]
    assert len(matrix) == literals
    first, stop = sorted(rng.integers(0, n + 1, 2).tolist())
    np.testing.assert_array_equal(matrix.support(stop), dense[:, :stop].sum(1))
    codes = rng.integers(0, 3, stop)
    documents = [len(set(codes[row[:stop]])) for row in dense]
    np.testing.assert_array_equal(matrix.documents(codes), documents)
    values = rng.normal(size=(stop, 4))
    np.testing.assert_allclose(matrix.sums(values), dense[:, :stop] @ values, atol=1e-12)
    np.testing.assert_array_equal(matrix.sums(values[:, 1:2])[:, 0], matrix.sums(values)[:, 1])
    for literal, row in enumerate(dense):
        np.testing.assert_array_equal(matrix.sentences(literal), np.flatnonzero(row))
        np.testing.assert_array_equal(matrix.column(literal), row)
        np.testing.assert_array_equal(matrix.together(literal, first, stop), (dense & row)[:, first:stop].sum(1))
