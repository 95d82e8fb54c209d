import numpy as np

from ops.psi.clusters import (
    agreements,
    centroids,
    default_clusters,
    examples,
    superclusters,
)
from ops.statistics.k_means import k_means


def test_agreements_are_of_every_two_labellings() -> None:
    same, other = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    rows = [tuple(row.values()) for row in agreements([same, same, other])]
    assert rows == [(0, 1, 1.0), (0, 2, -0.5), (1, 2, -0.5)]


def test_centroids_distances_and_examples_are_brute_force() -> None:
    vectors = np.random.default_rng(2).normal(size=(80, 5)).astype(np.float32)
    labels = k_means(vectors, 7, np.random.default_rng(0))
    centres = centroids(vectors, labels)
    distance = np.linalg.norm(vectors - centres[labels], axis=1)
    nearest = examples(labels, distance, 3)
    assert len(nearest) == len(centres) == 7
    for c in range(7):
        own = np.flatnonzero(labels == c)
        np.testing.assert_allclose(centres[c], vectors[own].astype(float).mean(0))
        expected = np.linalg.norm(vectors[own] - centres[c], axis=1)
        np.testing.assert_allclose(distance[own], expected)
        assert nearest[c].tolist() == own[np.argsort(expected, kind="stable")][:3].tolist()


def test_the_paper_s_proportion() -> None:
    assert default_clusters(30_522) == 1_000
    assert default_clusters(50_257) == 1_647
    assert default_clusters(5) == 1


def test_superclusters_are_seven_at_most() -> None:
    centres = np.random.default_rng(0).normal(size=(40, 4))
    found = superclusters(centres, 0)
    assert set(found.tolist()) == set(range(7))
    assert np.array_equal(found, superclusters(centres, 0))
    assert superclusters(centres[:3], 0).tolist() == [0, 1, 2]
