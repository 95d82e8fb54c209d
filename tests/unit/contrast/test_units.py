from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from ops.contrast.groups import Contrast
from ops.contrast.permutations import Permutations, with_permuted_labels
from ops.contrast.units import Matched, Separation, separation
from ops.statistics.by_document import areas_by_document
from tests.unit.contrast.small import contrast

UNITS = 9


def measured(one: Contrast, values: np.ndarray, sparse: bool = False, permuted: bool = False) -> Separation:
    return separation(one, csr_array(values) if sparse else values, Permutations.of(one, 0) if permuted else None)


def values_of(one: Contrast, seed: int = 4) -> np.ndarray:
    random = np.random.default_rng(seed)
    return (random.normal(size=(len(one.rows), UNITS)) + 0.3 * one.is_a[:, None]).round(1).astype(np.float32)


@pytest.mark.parametrize("share", [0.4, 0.6])  # of group a, which is the smaller or the larger one
def test_areas_and_means_are_scikit_learns_and_numpys(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.contrast.units.UNITS_AT_ONCE", 4)
    one = contrast()
    is_a = np.random.default_rng(9).random(300) < share
    one, values = replace(one, is_a=is_a), values_of(one)
    found = measured(one, values, permuted=True)
    for unit in range(UNITS):
        assert found.auc[0, unit] == pytest.approx(roc_auc_score(is_a, values[:, unit]), abs=1e-9)
        assert found.mean_a[unit] == pytest.approx(values[is_a, unit].mean(), abs=1e-6)
        assert found.mean_b[unit] == pytest.approx(values[~is_a, unit].mean(), abs=1e-6)
    own = areas_by_document(values[is_a], values[~is_a], one.documents[is_a], one.documents[~is_a])
    assert found.auc == pytest.approx(own)
    assert len(found.largest) == 1_000
    assert (np.abs(found.distance) <= 1e3).all()


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_matched_areas_are_those_of_a_slow_definition(share: float) -> None:
    """Others are drawn with weights: each sentence of the smaller group gives 1 to those of its length and data set."""
    one = contrast(500)
    one = replace(one, is_a=np.random.default_rng(9).random(500) < share)
    values, kind = values_of(one), one.datasets * 100 + one.lengths
    found = measured(one, values)
    smaller = one.is_a if share < 0.5 else ~one.is_a
    winners, weights = np.flatnonzero(smaller), np.zeros(500)
    for i in winners:
        alike = ~smaller & (kind == kind[i])
        assert alike.any(), "each has a match of the same length"
        weights[alike] += 1 / alike.sum()
    for unit in range(UNITS):
        x = values[:, unit]
        wins = [((x[i] > x) + (x[i] == x) / 2) @ weights / weights.sum() for i in winners]
        area = np.mean(wins) if share < 0.5 else 1 - np.mean(wins)
        assert found.matched_auc[0, unit] == pytest.approx(area, abs=1e-9)
    assert (found.matched_auc[1] <= found.matched_auc[0]).all()
    assert ((found.p < 0.05) == ((found.matched_auc[1] > 0.5) | (found.matched_auc[2] < 0.5))).all()


def test_length_alone_separates_nothing_once_matched() -> None:
    one = contrast(2_000, documents=400)
    is_a = np.random.default_rng(1).random(2_000) < (one.lengths - 4) / 9
    one = replace(one, is_a=is_a)
    found = measured(one, one.lengths[:, None].astype(np.float32))
    assert found.auc[0, 0] > 0.65
    assert found.matched_auc[0, 0] == pytest.approx(0.5, abs=1e-9)
    assert Matched.of(one).unmatched == 0


def test_what_has_no_match_is_known() -> None:
    one = contrast(300)
    lengths = np.where(one.is_a, 40, 10)
    assert Matched.of(replace(one, lengths=lengths)).unmatched == 1
    assert np.isnan(measured(replace(one, lengths=lengths), values_of(one)).p).all()


def test_a_feature_of_a_tenth_of_one_group_is_first_among_features() -> None:
    """Its area is close to 0.5, below that of features that are a little more active in group a."""
    one = contrast(3_000, by_document=True, documents=600)
    random = np.random.default_rng(3)
    values = (random.random((3_000, 20)) < 0.4).astype(np.float32)
    values[:, 5] = one.is_a & (random.random(3_000) < 0.1)
    values[:, 7] = (random.random(3_000) < 0.4) | (one.is_a & (random.random(3_000) < 0.15))
    found = measured(one, values, sparse=True)
    worth = np.abs(found.g2) / found.effect
    assert worth.argmax() == 5
    assert found.active_b[5] == 0
    assert found.active_a[5] == pytest.approx(values[one.is_a, 5].mean())
    assert found.auc[0, 5] == pytest.approx(0.5 + found.active_a[5] / 2)
    assert found.p[5] == found.p.min() < 1e-9
    assert (found.effect >= 1).all()


def test_a_feature_of_one_document_is_no_finding() -> None:
    one = contrast(1_000, by_document=True, documents=50)
    values = np.zeros((1_000, 2), np.float32)
    values[one.documents == one.documents[one.is_a][0], 0] = 1
    found = measured(one, values, sparse=True)
    assert found.p.tolist() == [1, 1]


def test_permuted_labels_keep_documents_together() -> None:
    one = contrast(1_000, by_document=True, documents=100)
    permuted = with_permuted_labels(one, 0)
    assert not np.array_equal(permuted.is_a, one.is_a)
    assert all(len(set(permuted.is_a[one.documents == d])) == 1 for d in set(one.documents.tolist()))
    assert np.array_equal(permuted.rows, one.rows)


@pytest.mark.parametrize("pure", [0, 1])  # documents that hold group a alone
def test_permuted_labels_of_a_rare_group_in_mixed_documents_leave_it_its_size(pure: int) -> None:
    one = contrast(4_000, documents=100)
    one = replace(one, is_a=(one.documents < pure) | ((one.documents < 8) & (np.arange(4_000) % 3 == 0)))
    permuted = with_permuted_labels(one, 0)
    assert not np.array_equal(permuted.is_a, one.is_a)
    assert permuted.is_a.sum() == pytest.approx(one.is_a.sum(), rel=0.2 * pure)
    assert np.isfinite(measured(permuted, values_of(one)).auc[0]).all()


@pytest.mark.slow
def test_permuted_labels_are_significant_as_often_as_chance_says() -> None:
    """200 permutations of a key: 4 to 6 % of units have p < 0.05, and any has q < 0.05 in at most 18."""
    from ops.statistics.false_discovery import q_values

    one = contrast(1_500, by_document=True, documents=300)
    random = np.random.default_rng(8)
    of_document = random.normal(size=(300, 60))[one.documents % 300]
    values = (0.5 * of_document + random.normal(size=(1_500, 60))).astype(np.float32)
    shares, any_found = [], 0
    for seed in range(200):
        own = with_permuted_labels(one, seed)
        p = measured(own, values).p
        shares.append((p < 0.05).mean())
        any_found += bool((q_values(p) < 0.05).any())
    assert 0.04 <= np.mean(shares) <= 0.06
    assert any_found <= 18
