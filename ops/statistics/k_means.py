"""K-means on one thread, because the order in which several threads add would change the last bits."""

import warnings

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ops.arrays import Floats, Int32s, Int64s
from ops.sampling import random_state

_BATCH = 4_096


def k_means(points: Floats, clusters: int, seed: int | np.random.Generator, starts: int = 1) -> Int32s:
    """Return the cluster of each point, `[points]`, by Lloyd's k-means from k-means++ starts.

    Clusters are numbered in the order of their first points, without gaps. There are fewer clusters if fewer than
    `clusters` points are distinct.

    Args:
        points: the points, `[points, dimensions]`.
        clusters: number of clusters.
        seed: the seed of the starts, or a generator that draws it.
        starts: number of starts; the best result is used.
    """
    labels = fit_k_means(points, clusters, seed, starts).labels_
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int32)
    number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return number[inverse]


def fit_k_means(
    points: Floats,
    clusters: int,
    seed: int | np.random.Generator,
    starts: int = 1,
    times: Int64s | None = None,
    in_batches: bool = False,
) -> KMeans | MiniBatchKMeans:
    """Return k-means that is fitted to points.

    Args:
        points, clusters, seed, starts: see `k_means`.
        times: how often each point occurs, `[points]`; None for once.
        in_batches: whether mini-batches are used, which is faster and less exact.
    """
    state = random_state(seed) if isinstance(seed, int) else int(seed.integers(1 << 31))
    options = {"n_clusters": clusters, "n_init": starts, "random_state": state}
    method = MiniBatchKMeans(**options, batch_size=_BATCH) if in_batches else KMeans(**options, algorithm="lloyd")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        method.fit(points, sample_weight=None if times is None else times.astype(np.float64))
    return method
