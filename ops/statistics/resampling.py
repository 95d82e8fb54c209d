"""Intervals by a bootstrap over clusters: sentences that belong together, as in a document, are drawn together."""

import numpy as np

from ops.arrays import Float64s
from ops.statistics.interval import Interval, wilson

SAMPLES = 2_000


def resample(clusters: int, rng: np.random.Generator, samples: int = SAMPLES) -> Float64s:
    """Return how often a sample and its bootstrap samples contain each cluster, `[1 + samples, clusters]`.

    Row 0 is the sample itself, which contains each cluster once. For each other row, all clusters are drawn again with
    replacement. One product with sums by cluster gives a statistic of the sample and of its bootstrap samples; all
    values are integers, so that products with integers are exact. Equal generators make the same draws.

    Args:
        clusters: number of clusters, such as documents, at least one. Each sample consists of this number of draws.
        rng: the random generator that makes the draws.
        samples: number of bootstrap samples.
    """
    drawn = rng.multinomial(clusters, np.full(clusters, 1 / clusters), samples)
    return np.vstack([np.ones(clusters), drawn])


def percentile_interval(drawn: Float64s, clusters: int, least: float = 0.0, most: float = 1.0) -> Interval:
    """Return a statistic with its 95 % interval: the 2.5 % and 97.5 % percentiles of its resamples (Efron 1979).

    If all resamples are equal, the sample shows no spread, but that does not mean that there is none. The interval then
    extends from the value to both sides by the upper end of Wilson's interval for 0 of `clusters` observations. If the
    statistic is undefined in all resamples, so is the interval.

    Args:
        drawn: the statistic of the sample and of each resample, `[1 + samples]`; NaN if it is undefined.
        clusters: number of clusters.
        least, most: the ends of the statistic's range.

    >>> [round(number, 3) for number in percentile_interval(np.append(0.5, np.linspace(0, 1, 41)), 10)]
    [0.5, 0.025, 0.975]
    >>> [round(number, 2) for number in percentile_interval(np.ones(6), 12)]
    [1.0, 0.76, 1.0]
    """
    value, known = float(drawn[0]), drawn[1:][np.isfinite(drawn[1:])]
    if not len(known):
        return Interval(value, np.nan, np.nan)
    if known.min() < known.max():
        return Interval(value, *np.percentile(known, (2.5, 97.5)).tolist())
    reach = wilson(0.0, clusters).high
    return Interval(value, max(value - reach, least), min(value + reach, most))
