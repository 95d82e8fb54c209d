"""A cluster's psi in a head: means over its tokens, set against random groups of its size and random directions."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Float64s, Int32s, Int64s, Integers


@dataclass(frozen=True)
class ClusterPsi:
    """What the clusters' rows of `psi/clusters` say of one head; all but `n` and `rank` are `[clusters, values]`.

    Attributes:
        n: tokens that the means are over (those of norm zero have no psi), `[clusters]`.
        mean: mean over the cluster's tokens.
        z: how many standard deviations the mean lies from that of a random group of as many tokens.
        relative: the mean, divided by the psi of a random direction; NaN in a head whose matrix is zero.
        rank: place by the mean of the last value, from 1, `[clusters]`; clusters without a value come last.
    """

    n: Int64s
    mean: Float64s
    z: Float64s
    relative: Float64s
    rank: Int32s


def cluster_psi(values: Float64s, labels: Integers, random: Float64s) -> ClusterPsi:
    """Measure every cluster in one head.

    Args:
        values: psi of each token, `[tokens, values]` float64, NaN where a token has none; psi_qkv last.
        labels: cluster of each token, from 0, `[tokens]`.
        random: psi of a random direction, `[values]`.
    """
    known = np.isfinite(values).all(1)
    clusters = int(labels.max()) + 1
    count = np.bincount(labels[known], minlength=clusters)
    total = np.stack([np.bincount(labels[known], column[known], clusters) for column in values.T], 1)
    with np.errstate(invalid="ignore"):
        mean = total / count[:, None]
    z = group_z_score(mean, count[:, None], values[known])
    order = np.lexsort((np.arange(clusters), -np.nan_to_num(mean[:, -1], nan=-1.0)))
    rank = np.empty(clusters, np.int32)
    rank[order] = np.arange(1, clusters + 1)
    relative = np.divide(mean, random, out=np.full_like(mean, np.nan), where=random > 0)
    return ClusterPsi(count, mean, z, relative, rank)


def group_z_score(mean: Float64s, size: Integers, population: Float64s) -> Float64s:
    """Return how many standard deviations groups' means lie from those of random groups of the same size.

    The mean of n values drawn without replacement from N has the population's mean and the variance
    s^2 / n (N - n) / (N - 1), where s^2 is the population's (ddof 0): exact, so nothing is sampled.

    Args:
        mean: `[groups, values]`.
        size: n of each group, `[groups, 1]`.
        population: all values, `[tokens, values]`.

    Returns:
        `[groups, values]`; NaN for a group of none or of all, and where all values are equal.
    """
    everything = len(population)
    if not everything:
        return np.full(mean.shape, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(population.var(0) / size * (everything - size) / (everything - 1))
        return np.where(spread > 0, (mean - population.mean(0)) / spread, np.nan)
