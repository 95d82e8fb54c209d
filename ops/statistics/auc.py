"""How well a number separates winners from others: the area under the ROC curve, with an interval."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Float64s
from ops.statistics.wilson import wilson


@dataclass(frozen=True)
class Area:
    """The area under the ROC curve and the ends of its 95 % interval, each NaN where it is undefined."""

    auc: float
    low: float
    high: float


def area(winners: ArrayLike, others: ArrayLike) -> Area:
    """Return how often a winner's value `[n_winners]` is above another's `[n_others]`, ties counting half.

    The interval has the form of Wilson 1927, with the number of observations that would give a share the
    variance that DeLong et al. 1988 estimate; so it stays within 0 and 1. At an area of 0 or 1, where that
    variance is 0, the number is that of the smaller class. With no value in a class all is NaN, with one
    the interval is.

    Raises ValueError where a value is NaN.

    >>> area([3, 2, 2], [1, 2]).auc
    0.8333333333333334
    """
    above, below = np.asarray(winners, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if np.isnan(above).any() or np.isnan(below).any():
        raise ValueError("area: a value is NaN")
    n, m = above.size, below.size
    if not n or not m:
        return Area(math.nan, math.nan, math.nan)
    # How much of the other class lies below each winner and above each other, by ranks (Sun and Xu 2014).
    beaten = how_many_below(above, below) / m
    beating = 1 - how_many_below(below, above) / n
    auc = float(beaten.mean())
    if n < 2 or m < 2:
        return Area(auc, math.nan, math.nan)
    variance = float(beaten.var(ddof=1)) / n + float(beating.var(ddof=1)) / m
    if auc in (0.0, 1.0):
        return Area(auc, *wilson(auc, min(n, m)))
    if variance == 0:
        return Area(auc, auc, auc)
    return Area(auc, *wilson(auc, auc * (1 - auc) / variance))


def how_many_below(values: Float64s, others: Float64s) -> Float64s:
    """Return how many of the others lie below each value, those as high counting half, `[values]` float64."""
    ascending = np.sort(others)
    return (np.searchsorted(ascending, values) + np.searchsorted(ascending, values, side="right")) / 2
