"""How much more often winners have a feature than the baseline: share, lift and log-likelihood ratio."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Arrays, Float64s, Floats, Int64s, Integers


@dataclass(frozen=True)
class Measures:
    """Measures of patterns or values, each `[n] float64`.

    An undefined value is NaN: a share of nothing, and a lift without a baseline.
    """

    share: Float64s
    baseline_share: Float64s
    lift: Float64s
    lift_low: Float64s
    g2: Float64s


def measures(support: ArrayLike, n: ArrayLike, baseline_support: ArrayLike, baseline_n: ArrayLike) -> Measures:
    """Return the measures of a feature of `support` of `n` winners and `baseline_support` of `baseline_n` others.

    The arguments are counts of sentences or tokens that broadcast against each other; the baseline excludes the
    winners. Lift is smoothed by half a count. `lift_low` is the lower end of its 95 % interval (Katz et al. 1978). `g2`
    is the log-likelihood ratio (Dunning 1993), negative if the share is below the baseline's. Without a baseline, g2 is
    0, and the baseline's share, the lift and its bound are NaN.

    Raises ValueError if a count is negative or above its total.

    >>> found = measures([30, 5], 100, [200, 100], 2000)
    >>> found.share.tolist(), found.lift.round(2).tolist(), found.g2.round(2).tolist()
    ([0.3, 0.05], [3.01, 1.08], [28.67, 0.0])
    """
    a, n1, c, n2 = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(count, dtype=np.int64)) for count in (support, n, baseline_support, baseline_n))
    )
    if np.any((a < 0) | (c < 0) | (a > n1) | (c > n2)):
        raise ValueError("measures: a count is negative or above its total")
    none = n2 == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(n1 > 0, a / n1, np.nan)
        baseline_share = np.where(none, np.nan, c / n2)
    lift, lift_low = _smoothed_lift(a, n1, c, n2)
    return Measures(
        share=share,
        baseline_share=baseline_share,
        lift=np.where(none, np.nan, lift),
        lift_low=np.where(none, np.nan, lift_low),
        g2=signed_g2(a, n1, c, n2),
    )


def expected_measures(support: ArrayLike, n: ArrayLike, expected: ArrayLike, words: ArrayLike) -> Measures:
    """Return the measures of `support` among `n` compared with the expected number `expected`, each `[n] float64`.

    The measures are those of `measures`. The expected share takes the place of the baseline's share, among `words`
    words. Expected numbers need not be integers.
    """
    a, n1, e, n2 = (np.asarray(given, np.float64) for given in (support, n, expected, words))
    c = e / n1 * n2
    lift, low = _smoothed_lift(a, n1, c, n2)
    return Measures(share=a / n1, baseline_share=e / n1, lift=lift, lift_low=low, g2=signed_g2(a, n1, c, n2))


def _smoothed_lift(a: Arrays, n1: Arrays, c: Arrays, n2: Arrays) -> tuple[Float64s, Float64s]:
    """Return the lifts of a among n1 against c among n2, smoothed by half a count, and their lower 95 % bounds."""
    lift = ((a + 0.5) / (n1 + 1)) / ((c + 0.5) / (n2 + 1))
    variance = 1 / (a + 0.5) - 1 / (n1 + 1) + 1 / (c + 0.5) - 1 / (n2 + 1)
    return lift, lift * np.exp(-1.96 * np.sqrt(variance))


def signed_g2(support: ArrayLike, n: ArrayLike, baseline_support: ArrayLike, baseline_n: ArrayLike) -> Float64s:
    """Return each table's log-likelihood ratio, negative if the share is below the baseline's.

    Its absolute value is `scipy.stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")`, and 0 if
    that is undefined because nothing or everything has the pattern (Dunning 1993).
    """
    a, n1, c, n2 = (np.asarray(count, dtype=np.float64) for count in (support, n, baseline_support, baseline_n))
    total = n1 + n2
    with np.errstate(divide="ignore", invalid="ignore"):
        # All four cells differ from their expectation by the same amount, so the deviations add up to 0 and
        # each term observed log(observed / expected) - deviation is positive: nothing cancels between large
        # cells.
        deviation = np.where(total > 0, (a * n2 - c * n1) / total, 0.0)
        g2 = np.zeros(np.shape(deviation))
        for observed, row, column, sign in (
            (a, n1, a + c, 1.0),
            (n1 - a, n1, total - a - c, -1.0),
            (c, n2, a + c, -1.0),
            (n2 - c, n2, total - a - c, 1.0),
        ):
            expected = row * column / total
            term = np.where(observed > 0, observed * np.log(observed / expected), 0.0) - sign * deviation
            g2 = g2 + np.where(expected > 0, np.maximum(term, 0.0), 0.0)
    return np.where(deviation == 0, 0.0, np.sign(deviation) * 2 * g2)


def rank_patterns(g2: Floats, support: Integers, alphabetical: Integers, groups: Integers) -> Int64s:
    """Return the order of patterns, `[n] int64`: by group, such as a neuron and pole, ascending, and then by rank.

    Patterns are ranked by g2 and then by support, both descending, and then by their place in alphabetical order.
    """
    return np.lexsort((alphabetical, -support.astype(np.int64), -g2, groups))


def place_in_group(groups: Integers) -> Int64s:
    """Return each entry's position in its group, counted from 0; groups ascend.

    >>> place_in_group(np.array([3, 3, 8, 8, 8])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(groups.size) - np.searchsorted(groups, groups)
