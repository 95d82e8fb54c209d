"""Clusters of a vocabulary by k-means on the word embeddings, and the agreement between two seeds (Maeda 2024)."""

from itertools import combinations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ops import sampling
from ops.arrays import Float64s, Floats, Int32s, Int64s
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


def distances(vectors: Floats, labels: Int32s, centres: Float64s) -> Float64s:
    """Return each vector's Euclidean distance to its cluster's centroid, `[tokens]` float64."""
    return np.asarray(np.linalg.norm(vectors - centres[labels], axis=1))


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
