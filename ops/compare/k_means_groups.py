"""Groups of neurons or sentences by k-means, their distinctness and stability, and a map (Oba 2021, Figure 4)."""

import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score, silhouette_score
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ops.arrays import Float32s, Floats
from ops.sampling import random_state
from ops.statistics.k_means import k_means

MAX_SILHOUETTE = 2_000  # maximum number of points of a silhouette; with more, a seeded sample is used
PERPLEXITY = 30.0


@dataclass(frozen=True)
class Quality:
    """How distinct groups are (silhouette), and how stable they are (mean adjusted Rand index of pairs of seeds).

    The silhouette is None if all points, or all sampled points, are in one group.
    """

    silhouette: float | None
    rand_index: float


def grouping_quality(points: Floats, groups: int, seeds: list[int]) -> Quality:
    """Return how distinct the groups of the first seed are, and how far the groups of all seeds agree.

    For the agreement, k-means is run with one start for each seed.
    """
    labellings = [k_means(points, groups, seed) for seed in seeds]
    silhouette = None
    if 2 <= len(np.unique(labellings[0])) < len(points):
        order = np.random.RandomState(random_state(seeds[0])).permutation(len(points))[:MAX_SILHOUETTE]
        drawn = labellings[0][order]
        # A sample may not contain a small group.
        if 2 <= len(np.unique(drawn)) < len(order):
            with threadpool_limits(1):
                silhouette = float(silhouette_score(points[order], drawn))
    pairs = [adjusted_rand_score(a, b) for a, b in combinations(labellings, 2)]
    return Quality(silhouette, float(np.mean(pairs)) if pairs else 1.0)


def project(points: Floats, seed: int) -> Float32s:
    """Return a map of the points in two dimensions, `[points, 2]` float32, by t-SNE (van der Maaten and Hinton 2008).

    Perplexity is 30, or a third of the points if there are few. Three points or fewer are placed on a line, as are
    points that are all equal or have one dimension.
    """
    count = len(points)
    if points.shape[1] == 1:
        return np.stack([points[:, 0], np.zeros(count)], 1).astype(np.float32)
    if count <= 3 or (points == points[:1]).all():
        return np.stack([np.arange(count), np.zeros(count)], 1).astype(np.float32)
    method = TSNE(2, perplexity=min(PERPLEXITY, (count - 1) / 3), init="pca", random_state=random_state(seed))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(method.fit_transform(np.asarray(points, np.float32)), np.float32)
