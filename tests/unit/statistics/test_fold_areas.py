import math

import numpy as np
import pytest
from scipy.stats import norm

from ops.statistics.by_document import areas_by_document
from ops.statistics.fold_areas import FoldAreas

DELTA = 0.8


def drawn(seed: int, documents: int = 60, n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two scores that share noise; whole documents are in one group and in one of five folds."""
    random = np.random.default_rng(seed)
    document = random.integers(0, documents, n)
    is_a = (random.random(documents) < 0.4)[document]
    shared = 0.6 * random.normal(size=documents)[document] + random.normal(size=n)
    noise = random.normal(size=(n, 2)) + 0.4 * random.normal(size=(documents, 2))[document]
    scale = math.sqrt(1.36 + 1.16)
    return DELTA * is_a[:, None] + (shared[:, None] + noise) / scale, is_a, document, document % 5


def test_one_fold_is_the_area_by_document() -> None:
    scores, is_a, documents, _ = drawn(0)
    found = FoldAreas.of(scores, is_a, documents, np.zeros(600, int)).areas()
    expected = areas_by_document(scores[is_a], scores[~is_a], documents[is_a], documents[~is_a])
    assert found == pytest.approx(expected)


def test_areas_of_folds_are_averaged_by_the_smaller_group() -> None:
    scores, is_a, documents, folds = drawn(1)
    found = FoldAreas.of(scores, is_a, documents, folds)
    areas, sizes = [], []
    for fold in range(5):
        a, b = (folds == fold) & is_a, (folds == fold) & ~is_a
        areas.append(areas_by_document(scores[a], scores[b], documents[a], documents[b])[0])
        sizes.append(a.sum())
    assert found.areas()[0] == pytest.approx(np.average(areas, axis=0, weights=sizes))
    value, low, high = found.combined(np.array([1.0, -1.0]))
    assert value == pytest.approx(found.areas()[0, 0] - found.areas()[0, 1])
    assert low < value < high
    assert found.combined(np.array([1.0, -1.0]), 0.01)[1] < low


def test_folds_without_both_groups_are_left_out() -> None:
    scores, is_a, documents, folds = drawn(2)
    without = is_a & (folds != 3)
    found = FoldAreas.of(scores, without, documents, folds)
    assert len(found.parts) == 4
    none = FoldAreas.of(np.full((600, 2), np.nan), is_a, documents, folds)
    assert np.isnan(none.areas()).all()
    assert np.isnan(none.combined(np.ones(2))).all()


def test_a_score_differs_from_itself_by_nothing() -> None:
    scores, is_a, documents, folds = drawn(3)
    same = FoldAreas.of(scores[:, [0, 0]], is_a, documents, folds)
    assert same.combined(np.array([1.0, -1.0])) == pytest.approx((0, 0, 0), abs=1e-12)


def test_intervals_contain_the_truth() -> None:
    truth, inside, differs = norm.cdf(DELTA / math.sqrt(2)), [], []
    for seed in range(300):
        found = FoldAreas.of(*drawn(seed))
        _, low, high = found.areas()
        inside += [low[0] <= truth <= high[0]]
        _, low_0, high_0 = found.combined(np.array([1.0, -1.0]))
        differs += [low_0 <= 0 <= high_0]
    assert 0.92 <= np.mean(inside) <= 0.985
    assert 0.92 <= np.mean(differs) <= 0.985
