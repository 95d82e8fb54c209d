import numpy as np
from sklearn.metrics import adjusted_rand_score

from ops.statistics.k_means import k_means


def test_clusters_that_lie_apart_are_found_and_numbered_by_their_first_points() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 80)
    points = ((rng.normal(size=(4, 5)) * 20)[truth] + rng.normal(size=(80, 5))).astype(np.float32)
    labels = k_means(points, 4, 0, 3)
    assert labels.dtype == np.int32
    assert adjusted_rand_score(truth, labels) == 1
    assert list(dict.fromkeys(labels.tolist())) == [0, 1, 2, 3]


def test_a_seed_gives_the_same_and_another_one_something_else() -> None:
    points = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    first, same, other = (k_means(points, 20, np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(first, same)
    assert 0 < adjusted_rand_score(first, other) < 1


def test_fewer_distinct_points_than_clusters() -> None:
    points = np.repeat(np.eye(3, dtype=np.float32), 5, axis=0)
    assert sorted(set(k_means(points, 6, np.random.default_rng(0)).tolist())) == [0, 1, 2]
