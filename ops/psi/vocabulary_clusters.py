"""Clusters of a vocabulary: k-means on the word embeddings, and the agreement between two seeds (Maeda 2024)."""

import warnings
from itertools import combinations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ops import sampling
from ops.arrays import Float64s, Floats, Int32s, Int64s

PAPER_CLUSTERS, PAPER_VOCABULARY = 1_000, 30_522
SUPERCLUSTERS = 7


def default_clusters(vocabulary: int) -> int:
    """Return the number of clusters in the paper's proportion: 1,000 for 30,522 tokens."""
    return max(round(vocabulary * PAPER_CLUSTERS / PAPER_VOCABULARY), 1)


def k_means(vectors: Floats, clusters: int, rng: np.random.Generator) -> Int32s:
    """Cluster vectors, `[tokens, width]`, with Lloyd's k-means from one k-means++ start; return each vector's cluster.

    Clusters are numbered in the order of their first tokens, without gaps. There are fewer clusters if fewer than
    `clusters` vectors are distinct. The computation uses one thread, because the order of additions in several threads
    would change the last bits.
    """
    method = KMeans(clusters, n_init=1, max_iter=300, random_state=int(rng.integers(1 << 31)), algorithm="lloyd")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = method.fit_predict(vectors)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int32)
    place[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return place[inverse]


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


def agreements(labellings: list[Int32s]) -> list[tuple[int, int, float]]:
    """Return (a, b, adjusted Rand index) for every two labellings of the same tokens: 1 means equal, 0 chance."""
    return [
        (a, b, float(adjusted_rand_score(labellings[a], labellings[b])))
        for a, b in combinations(range(len(labellings)), 2)
    ]
