"""Means and areas under the ROC curve whose intervals take what comes from one document as one observation."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ops.statistics.auc import Area, how_many_below
from ops.statistics.wilson import wilson

_Z = 1.959963984540054
Doubles = NDArray[np.float64]


def mean_by_document(values: ArrayLike, documents: ArrayLike) -> tuple[float, float, float]:
    """Return the mean of values and the ends of its 95 % interval, by the sums of each document's deviations.

    With as many documents as values this is the usual normal interval. Fewer than two documents have none: NaN.

    Args:
        values: `[n]`, at least one.
        documents: of which document each is, `[n]` int.

    >>> [round(x, 3) for x in mean_by_document([0, 1, 1, 0], [0, 1, 2, 3])]
    [0.5, -0.066, 1.066]
    """
    given = np.asarray(values, np.float64)
    mean = float(given.mean())
    half = _Z * math.sqrt(_variance((given - mean) / len(given), np.asarray(documents)))
    return mean, mean - half, mean + half


def area_by_document(
    higher: ArrayLike, lower: ArrayLike, documents: ArrayLike, lower_documents: ArrayLike | None = None
) -> Area:
    """Return how often a value of one class `[n]` is above one of the other `[m]`, ties counting half.

    The variance is that of DeLong et al. 1988 for clustered data (Obuchowski 1997), the interval of the form of
    Wilson 1927 with the number of observations that would give a share that variance, so it stays within 0 and 1.
    At an area of 0 or 1 that number is that of the documents. With fewer than two documents it is NaN.

    Args:
        higher, lower: the values, at least one of each.
        documents: of the first, `[n]` int.
        lower_documents: of the others, `[m]` int; none given: the same.

    Raises:
        ValueError: a value is NaN.

    >>> area_by_document([3, 2, 2], [1, 2, 2], [0, 1, 2]).auc
    0.7777777777777778
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
        return Area(auc, math.nan, math.nan)
    if auc in (0.0, 1.0):
        return Area(auc, *wilson(auc, len(np.unique(both))))
    if variance == 0:
        return Area(auc, auc, auc)
    return Area(auc, *wilson(auc, auc * (1 - auc) / variance))


def _variance(parts: Doubles, documents: NDArray[np.integer]) -> float:
    """Return the variance of a sum whose parts of one document go together; NaN for fewer than two documents."""
    _, place = np.unique(documents, return_inverse=True)
    sums = np.bincount(place, parts)
    if len(sums) < 2:
        return math.nan
    return float((sums**2).sum() * len(sums) / (len(sums) - 1))
