"""Intervals by a bootstrap over clusters: sentences that belong together, as in a document, are drawn together."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Arrays, Float64s
from ops.statistics.interval import Interval, wilson

SAMPLES = 2_000


@dataclass(frozen=True)
class Resampling:
    """How often a sample and its bootstrap samples contain each cluster, such as a document.

    One product of `times` with sums by cluster gives a statistic of the sample itself and of its bootstrap samples.

    Attributes:
        times: `[1 + samples, clusters]` float64; row 0 is the sample itself, which contains each cluster once. All
            values are integers, so that products with integers are exact.
    """

    times: Float64s

    @classmethod
    def of(cls, drawn: Arrays) -> "Resampling":
        """Return the resampling with these bootstrap samples, `[samples, clusters]`."""
        return cls(np.vstack([np.ones(drawn.shape[1]), drawn]))

    @classmethod
    def multinomial(cls, clusters: int, rng: np.random.Generator, samples: int = SAMPLES) -> "Resampling":
        """Draw all clusters again with replacement, for each sample; equal generators make the same draws.

        Args:
            clusters: number of clusters, at least one. Each sample consists of this number of draws.
            rng: the random generator that makes the draws.
            samples: number of bootstrap samples.
        """
        return cls.of(rng.multinomial(clusters, np.full(clusters, 1 / clusters), samples))


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
    value, known = float(drawn[0]), np.sort(drawn[1:][np.isfinite(drawn[1:])])
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
