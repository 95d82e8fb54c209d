import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from ops.contrast.permutations import Permutations
from tests.unit.contrast.small import contrast

UNITS = 5


@pytest.mark.parametrize("by_document", [True, False])
def test_distances_are_those_of_areas_of_permuted_labels(by_document: bool) -> None:
    one = contrast(by_document=by_document)
    values = np.random.default_rng(2).normal(size=(300, UNITS)).round(1)  # with ties
    permutations = Permutations.of(one, 7)
    own, largest = permutations.standardised(values, 60)
    labels = np.concatenate(list(permutations.drawn(60)))[:, permutations.items]
    areas = np.array([[roc_auc_score(row > 0.5, values[:, u]) for u in range(UNITS)] for row in labels])
    observed = np.array([roc_auc_score(one.is_a, values[:, u]) for u in range(UNITS)])
    assert own == pytest.approx((observed - areas.mean(0)) / areas.std(0))
    assert largest == pytest.approx(np.abs((areas - areas.mean(0)) / areas.std(0)).max(1))


def test_labels_stay_within_data_sets_or_documents() -> None:
    for by_document in (True, False):
        one = contrast(by_document=by_document)
        permutations = Permutations.of(one, 0)
        strata = one.datasets if by_document else one.documents
        assert len(permutations.labels) == (len(set(one.documents)) if by_document else 300)
        of_items = {int(item): int(s) for item, s in zip(permutations.items, strata, strict=True)}
        stratum = np.array([of_items[item] for item in range(len(permutations.labels))])
        for labels in np.concatenate(list(permutations.drawn(20))):
            for own in set(stratum.tolist()):
                assert sorted(labels[stratum == own]) == sorted(permutations.labels[stratum == own])
    drawn = np.concatenate(list(permutations.drawn(20)))
    assert len({tuple(row) for row in drawn.tolist()}) == 20


def test_another_contrast_draws_others_and_the_same_draws_the_same() -> None:
    one = contrast(by_document=True)
    first, again = (next(Permutations.of(one, 0).drawn(3)) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, next(Permutations.of(one, 1).drawn(3)))


def test_a_unit_that_follows_the_data_set_is_not_far_from_chance() -> None:
    """Where one group has more of a data set, its mean over permutations is that of the confounding."""
    random = np.random.default_rng(5)
    one = contrast(600, by_document=True, documents=200)
    set_of = np.zeros(int(one.documents.max()) + 1, int)
    set_of[one.documents] = one.datasets
    is_a = (random.random(len(set_of)) < np.where(set_of == 1, 0.8, 0.2))[one.documents]
    confounded = type(one)(one.group, one.rows, is_a, one.documents, one.datasets, one.lengths, one.folds)
    values = (one.datasets + random.normal(0, 0.3, 600))[:, None]
    assert roc_auc_score(is_a, values[:, 0]) > 0.7
    distance, _ = Permutations.of(confounded, 0).standardised(values, 200)
    assert abs(distance[0]) < 3
