"""An orthonormal basis of some columns on some of the rows, extended to the remaining rows."""

import numpy as np

from ops.arrays import Float64s

# A column counts as a combination of others if they leave less than this share of its variance.
LEAST_LEFT = 0.01


def orthonormal_basis(columns: Float64s, rows: int) -> Float64s:
    """Return the constant and the columns, made orthonormal on the first `rows` rows, `[n, 1 to 1 + columns]` float64.

    The other rows get the same combinations of columns, so that a fit on the first rows can be applied to them:
    `basis @ (basis[:rows].T @ y[:rows])` is the least-squares prediction for all rows. A column is dropped if the
    constant and the previous columns explain more than 99 % of its variance on the first rows (Gram-Schmidt with
    reorthogonalisation).

    Args:
        columns: the columns, `[n, columns]`.
        rows: number of first rows on which the basis is orthonormal, at least one.
    """
    n, count = columns.shape
    basis = np.empty((n, 1 + count))
    basis[:, 0] = 1 / np.sqrt(rows)
    kept = 1
    for column in columns.T:
        centred = column - column[:rows].mean()
        variance = centred[:rows] @ centred[:rows]
        left = centred
        for _ in range(2):
            left = left - basis[:, :kept] @ (basis[:rows, :kept].T @ left[:rows])
        square = left[:rows] @ left[:rows]
        if square > LEAST_LEFT * variance:
            basis[:, kept] = left / np.sqrt(square)
            kept += 1
    return basis[:, :kept].copy()
