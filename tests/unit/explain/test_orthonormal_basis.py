import numpy as np

from ops.explain.orthonormal_basis import orthonormal_basis

RNG = np.random.default_rng(0)
ROWS, N = 80, 120


def test_the_columns_are_orthonormal_on_the_first_rows_and_begin_with_the_constant() -> None:
    basis = orthonormal_basis(RNG.normal(size=(N, 7)), ROWS)
    np.testing.assert_allclose(basis[:ROWS].T @ basis[:ROWS], np.eye(8), atol=1e-12)
    np.testing.assert_allclose(basis[:, 0], 1 / np.sqrt(ROWS))
    np.testing.assert_allclose(orthonormal_basis(np.zeros((4, 0)), 2), np.full((4, 1), 0.5**0.5))


def test_it_predicts_all_rows_as_least_squares_does() -> None:
    columns, y = (RNG.random((N, 5)) < 0.3).astype(float), RNG.normal(size=ROWS)
    basis = orthonormal_basis(columns, ROWS)
    design = np.column_stack([np.ones(N), columns])
    expected = design @ np.linalg.lstsq(design[:ROWS], y, rcond=None)[0]
    np.testing.assert_allclose(basis @ (basis[:ROWS].T @ y), expected, rtol=1e-9)


def test_combinations_of_earlier_columns_and_constants_are_left_out() -> None:
    given = RNG.normal(size=(N, 3))
    almost = given[:, 0] + given[:, 2] + 1e-3 * RNG.normal(size=N)
    zero_on_the_first = np.where(np.arange(N) < ROWS, 0.0, 1.0)
    columns = np.column_stack([given, given[:, 0] - given[:, 1], np.ones(N), zero_on_the_first, almost])
    np.testing.assert_allclose(orthonormal_basis(columns, ROWS), orthonormal_basis(given, ROWS))
