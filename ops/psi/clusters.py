"""A cluster's psi in a head: means over its tokens, compared with random groups of its size and random directions."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Float64s, Int32s, Int64s, Integers


@dataclass(frozen=True)
class ClusterPsi:
    """The columns of `psi/clusters` for one head; all except `n` and `rank` are `[clusters, values]`.

    Attributes:
        n: number of tokens in the means, `[clusters]`; tokens of norm zero have no psi and are not counted.
        mean: the mean over the cluster's tokens.
        z: the difference between the mean and that of random groups of the same number of tokens, in standard
            deviations of the mean of such groups.
        relative: the mean divided by the psi of a random direction; NaN in a head whose matrix is zero.
        rank: the rank by the mean of the last value, from 1, `[clusters]`; clusters without a value come last.
    """

    n: Int64s
    mean: Float64s
    z: Float64s
    relative: Float64s
    rank: Int32s


def cluster_psi(values: Float64s, labels: Integers, random: Float64s) -> ClusterPsi:
    """Return the measures of every cluster in one head.

    Args:
        values: psi of each token, `[tokens, values]` float64, NaN for a token without psi; psi_qkv is last.
        labels: the cluster of each token, from 0, `[tokens]`.
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
    """Return the z-scores of groups' means among the means of random groups of the same size.

    If n values are drawn without replacement from N values, the expectation of their mean is the population's mean. Its
    variance is s^2 / n (N - n) / (N - 1), where s^2 is the population's variance (ddof 0). These formulas are exact, so
    nothing is sampled.

    Args:
        mean: the means of the groups, `[groups, values]`.
        size: the size n of each group, `[groups, 1]`.
        population: all values, `[tokens, values]`.

    Returns:
        The z-scores, `[groups, values]`; NaN for an empty group, a group of all tokens, and if all values are equal.
    """
    everything = len(population)
    if not everything:
        return np.full(mean.shape, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(population.var(0) / size * (everything - size) / (everything - 1))
        return np.where(spread > 0, (mean - population.mean(0)) / spread, np.nan)
