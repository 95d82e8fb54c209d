import numpy as np
import pytest

from ops.psi.vocabulary_clusters import (
    agreements,
    centroids,
    default_clusters,
    distances,
    examples,
    k_means,
    superclusters,
)


def blobs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 80)
    return (rng.normal(size=(4, 5)) * 20)[truth].astype(np.float32) + rng.normal(size=(80, 5)).astype(np.float32), truth


def test_clusters_that_lie_apart_are_found_and_numbered_by_their_first_token() -> None:
    vectors, truth = blobs()
    labels = k_means(vectors, 4, np.random.default_rng(1))
    assert labels.dtype == np.int32
    assert agreements([labels, truth.astype(np.int32)]) == [(0, 1, pytest.approx(1.0))]
    assert list(dict.fromkeys(labels.tolist())) == [0, 1, 2, 3]


def test_a_seed_gives_the_same_and_another_one_something_else() -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    first, same, other = (k_means(vectors, 20, np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(first, same)
    (found,) = agreements([first, other])
    assert 0 < found[2] < 1
    assert [(a, b) for a, b, _ in agreements([first, same, other])] == [(0, 1), (0, 2), (1, 2)]


def test_fewer_distinct_vectors_than_clusters() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), 5, axis=0)
    assert sorted(set(k_means(vectors, 6, np.random.default_rng(0)).tolist())) == [0, 1, 2]


def test_centroids_distances_and_examples_are_brute_force() -> None:
    vectors, _ = blobs(2)
    labels = k_means(vectors, 7, np.random.default_rng(0))
    centres = centroids(vectors, labels)
    distance = distances(vectors, labels, centres)
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
