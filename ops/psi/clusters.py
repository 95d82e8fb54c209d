"""Clusters of a vocabulary by k-means on the word embeddings (Maeda 2024), and the psi of each cluster in a head."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ops import sampling
from ops.arrays import Float64s, Floats, Int32s, Int64s, Integers
from ops.statistics.k_means import k_means

PAPER_CLUSTERS, PAPER_VOCABULARY = 1_000, 30_522
SUPERCLUSTERS = 7


def default_clusters(vocabulary: int) -> int:
    """Return the number of clusters in the paper's proportion: 1,000 for 30,522 tokens."""
    return max(round(vocabulary * PAPER_CLUSTERS / PAPER_VOCABULARY), 1)


def superclusters(centres: Float64s, seed: int) -> Int32s:
    """Return the supercluster of each cluster's centroid, `[clusters]`: at most seven, also found with k-means."""
    rng = np.random.default_rng([seed, sampling.SUPERCLUSTERS])
    return k_means(centres, min(SUPERCLUSTERS, len(centres)), rng)


def centroids(vectors: Floats, labels: Int32s) -> Float64s:
    """Return the mean of each cluster's vectors, `[clusters, width]` float64."""
    total = np.zeros((int(labels.max()) + 1, vectors.shape[1]))
    np.add.at(total, labels, vectors)
    return np.asarray(total / np.bincount(labels)[:, None])


def examples(labels: Int32s, distance: Float64s, count: int) -> list[Int64s]:
    """Return for each cluster the indices of its `count` tokens nearest to the centroid, the nearest first."""
    order = np.lexsort((np.arange(len(labels)), distance, labels))
    ends = np.cumsum(np.bincount(labels))[:-1]
    return [rows[:count] for rows in np.split(order, ends)]


def agreements(labellings: list[Int32s]) -> list[dict[str, float]]:
    """Return the rows of `psi/agreement`: the adjusted Rand index of every two labellings; 1 means equal, 0 chance."""
    return [
        {"run_a": a, "run_b": b, "rand_index": float(adjusted_rand_score(labellings[a], labellings[b]))}
        for a, b in combinations(range(len(labellings)), 2)
    ]


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
        mean, size: the means of the groups, `[groups, values]`, and the size n of each group, `[groups, 1]`.
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
