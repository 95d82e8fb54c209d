from itertools import combinations

import numpy as np
import pytest

from ops.psi.clusters import cluster_psi, group_z_score

LABELS = np.array([0, 1, 0, 2, 1, 1, 3])


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).lognormal(size=(len(LABELS), 4))


def test_means_ranks_and_relative_values(values: np.ndarray) -> None:
    found = cluster_psi(values, LABELS, np.array([2.0, 1.0, 4.0, 8.0]))
    expected = np.stack([values[c == LABELS].mean(0) for c in range(4)])
    np.testing.assert_allclose(found.mean, expected)
    np.testing.assert_allclose(found.relative, expected / [2, 1, 4, 8])
    assert found.n.tolist() == [2, 3, 1, 1]
    assert np.argsort(found.rank).tolist() == np.argsort(-expected[:, 3]).tolist()
    assert sorted(found.rank.tolist()) == [1, 2, 3, 4]


@pytest.mark.parametrize("size", [1, 3, 6])
def test_the_z_score_is_that_of_all_groups_of_the_size(size: int) -> None:
    population = np.random.default_rng(size).lognormal(size=(7, 2))
    means = np.array([population[list(group)].mean(0) for group in combinations(range(7), size)])
    mean = np.array([[1.5, 0.3]])
    expected = (mean - means.mean(0)) / means.std(0)
    np.testing.assert_allclose(group_z_score(mean, np.array([[size]]), population), expected, rtol=1e-10)


def test_no_z_score_of_everything_nothing_or_equal_values() -> None:
    population = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 3.0]])
    assert np.isnan(group_z_score(np.array([[1.0, 3.0]]), np.array([[3]]), population)).all()
    assert np.isnan(group_z_score(np.array([[np.nan, np.nan]]), np.array([[0]]), population)).all()
    assert np.isnan(group_z_score(np.array([[1.0, 3.0]]), np.array([[1]]), population)).tolist() == [[True, False]]
    assert np.isnan(group_z_score(np.array([[1.0]]), np.array([[1]]), np.array([[1.0]]))).all()


def test_tokens_without_a_value_are_left_out(values: np.ndarray) -> None:
    without = values.copy()
    without[[2, 3]] = np.nan
    found = cluster_psi(without, LABELS, np.ones(4))
    assert found.n.tolist() == [1, 3, 0, 1]
    np.testing.assert_array_equal(found.mean[0], values[0])
    assert np.isnan(found.mean[2]).all()
    assert np.isnan(found.z[2]).all()
    assert found.rank[2] == 4


@pytest.mark.parametrize("known", [0, 1, 2])
def test_of_hardly_any_token_with_a_value_means_are_null_and_nothing_is_infinite(known: int) -> None:
    values = np.full((4, 4), np.nan)
    values[:known] = 1.5
    found = cluster_psi(values, np.array([0, 0, 1, 2]), np.array([1.0, 0.0, 2.0, 0.0]))
    assert found.n.sum() == known
    assert not np.isinf(found.relative).any()
    assert np.isnan(found.relative[:, [1, 3]]).all()
    assert np.isnan(found.z).all()
    assert sorted(found.rank.tolist()) == [1, 2, 3]
