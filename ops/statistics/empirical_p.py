"""The p-value of a number among numbers that were measured in the same way on something random."""

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Float64s


def empirical_p(values: ArrayLike, null: ArrayLike) -> Float64s:
    """Return, for each value, the share of random values and the value itself that are at least as large.

    Args:
        values: the values, of any shape; the result for NaN is NaN.
        null: the random values, `[n]`; NaN is ignored.

    >>> empirical_p([2.5, 0.0, np.nan], [3.0, 1.0, 2.0])
    array([0.5, 1. , nan])
    """
    own, random = np.asarray(values, np.float64), np.asarray(null, np.float64)
    ascending = np.sort(random[~np.isnan(random)])
    above = len(ascending) - np.searchsorted(ascending, own, side="left")
    return np.where(np.isnan(own), np.nan, (1 + above) / (1 + len(ascending)))
