"""Shares and areas under the ROC curve with intervals that count each document as one observation."""

import math

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Float64s, Integers
from ops.statistics.auc import how_many_below
from ops.statistics.interval import Interval
from ops.statistics.wilson import wilson


def share_by_document(values: ArrayLike, documents: ArrayLike, least: float = 0.0) -> Interval:
    """Return the mean of values from 0 to 1 with its 95 % interval, which stays within 0 and 1.

    The variance is computed from the sum of the deviations in each document. The interval is Wilson's (1927), for the
    number of observations at which a share would have that variance. If all values are equal, the number of documents
    is used instead. With fewer than two documents the interval is NaN.

    Args:
        values: the values, `[n]`, at least one.
        documents: the document of each value, `[n]` int.
        least: lower bound on the variance of a value. Use the variance expected by chance if few of many values are
            large, because a sample may contain none of them.

    >>> [round(x, 3) for x in share_by_document([0, 1, 1, 0], [0, 1, 2, 3])]
    [0.5, 0.125, 0.875]
    """
    given, number = np.asarray(values, np.float64), np.asarray(documents)
    mean = float(given.mean())
    variance = _variance((given - mean) / len(given), number)
    if math.isnan(variance):
        return Interval(mean, math.nan, math.nan)
    variance = max(variance, least / len(given))
    if variance == 0 or mean in (0.0, 1.0):
        return wilson(mean, len(np.unique(number)))
    return wilson(mean, mean * (1 - mean) / variance)


def area_by_document(
    higher: ArrayLike, lower: ArrayLike, documents: ArrayLike, lower_documents: ArrayLike | None = None
) -> Interval:
    """Return how often a value of one class `[n]` is above one of the other `[m]`, ties counting half.

    This is the area under the ROC curve. Its variance is that of DeLong et al. 1988 for clustered data (Obuchowski
    1997). The interval is Wilson's (1927), for the number of observations at which a share would have that variance, so
    it stays within 0 and 1. For an area of 0 or 1, the number of documents of the class with fewer documents is used
    instead. With fewer than two documents the interval is NaN.

    Args:
        higher, lower: the values of the two classes, at least one of each.
        documents: the document of each value of `higher`, `[n]` int.
        lower_documents: the document of each value of `lower`, `[m]` int; None if they are those of `higher`.

    Raises:
        ValueError: a value is NaN.

    >>> area_by_document([3, 2, 2], [1, 2, 2], [0, 1, 2]).value
    0.7777777777777777
    """
    above, below = np.asarray(higher, np.float64), np.asarray(lower, np.float64)
    if np.isnan(above).any() or np.isnan(below).any():
        raise ValueError("area_by_document: a value is NaN")
    first = np.asarray(documents)
    second = first if lower_documents is None else np.asarray(lower_documents)
    beaten = how_many_below(above, below) / len(below)
    beating = 1 - how_many_below(below, above) / len(above)
    auc = float(beaten.mean())
    parts = np.concatenate([(beaten - auc) / len(above), (beating - auc) / len(below)])
    both = np.concatenate([first, second])
    variance = _variance(parts, both)
    if math.isnan(variance):
        return Interval(auc, math.nan, math.nan)
    if auc in (0.0, 1.0):
        return wilson(auc, min(len(np.unique(first)), len(np.unique(second))))
    if variance == 0:
        return Interval(auc, auc, auc)
    return wilson(auc, auc * (1 - auc) / variance)


def _variance(parts: Float64s, documents: Integers) -> float:
    """Return the variance of a sum with dependent parts within a document; NaN for fewer than two documents."""
    _, place = np.unique(documents, return_inverse=True)
    sums = np.bincount(place, parts)
    if len(sums) < 2:
        return math.nan
    return float((sums**2).sum() * len(sums) / (len(sums) - 1))
