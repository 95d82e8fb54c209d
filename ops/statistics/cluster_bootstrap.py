"""Intervals by a bootstrap over clusters: sentences that belong together, as in a document, are drawn together."""

import numpy as np

from ops.arrays import Float64s
from ops.statistics.interval import Interval
from ops.statistics.wilson import wilson

RESAMPLES = 2_000


def draw_clusters(clusters: int, rng: np.random.Generator, resamples: int = RESAMPLES) -> Float64s:
    """Draw all clusters again with replacement, several times, and return how often each cluster was drawn.

    Args:
        clusters: number of clusters, at least one. Each resample consists of this number of draws.
        rng: the random generator that makes the draws; equal generators make the same draws.
        resamples: number of resamples.

    Returns:
        Integer values, `[resamples, clusters]` float64, so that products of them are exact.
    """
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), resamples).astype(np.float64)


def percentile_interval(
    value: float, drawn: Float64s, clusters: int, least: float = 0.0, most: float = 1.0
) -> Interval:
    """Return a statistic with its 95 % interval: the 2.5 % and 97.5 % percentiles of its resamples (Efron 1979).

    If all resamples are equal, the sample shows no spread, but that does not mean that there is none. The interval then
    extends from the value to both sides by the upper end of Wilson's interval for 0 of `clusters` observations. If the
    statistic is undefined in all resamples, so is the interval.

    Args:
        value: the statistic of the complete sample.
        drawn: the statistic of each resample, `[resamples]`; NaN if it is undefined.
        clusters: number of clusters.
        least, most: the ends of the statistic's range.

    >>> [round(number, 3) for number in percentile_interval(0.5, np.linspace(0, 1, 41), 10)]
    [0.5, 0.025, 0.975]
    >>> [round(number, 2) for number in percentile_interval(1.0, np.ones(5), 12)]
    [1.0, 0.76, 1.0]
    """
    known = np.sort(drawn[np.isfinite(drawn)])
    if not len(known):
        return Interval(value, np.nan, np.nan)
    if known[0] < known[-1]:
        return Interval(value, _at_share(known, 0.025), _at_share(known, 0.975))
    reach = wilson(0.0, clusters).high
    return Interval(value, max(value - reach, least), min(value + reach, most))


def _at_share(ascending: Float64s, share: float) -> float:
    """Return what np.percentile returns for sorted numbers and a share below 1, in a tenth of the time."""
    at = share * (len(ascending) - 1)
    below = int(at)
    low, high = ascending[below : below + 2].tolist()
    return float((high - low) * (at - below) + low)
