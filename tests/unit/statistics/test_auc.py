import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from ops.statistics.auc import area

SCORES = st.lists(st.integers(-3, 3), min_size=1, max_size=30)


@given(SCORES, SCORES)
def test_the_area_is_scikit_learns_with_ties(winners, others):
    truth = [1] * len(winners) + [0] * len(others)
    found = area(winners, others)
    assert found.auc == pytest.approx(roc_auc_score(truth, winners + others))
    if len(winners) > 1 and len(others) > 1:
        assert 0 <= found.low <= found.auc + 1e-12
        assert found.auc - 1e-12 <= found.high <= 1


def test_the_interval_holds_the_true_area_about_95_times_in_100():
    random = np.random.default_rng(0)
    truth = 0.5 * (1 + math.erf(0.8 / 2))
    draws = 400
    held = 0
    for _ in range(draws):
        found = area(random.normal(0.8, 1, 60), random.normal(0, 1, 150))
        held += found.low <= truth <= found.high
    assert held / draws == pytest.approx(0.95, abs=0.025)


def test_the_variance_is_delongs():
    """By the definition, over all pairs: for many scores the half width is z times its root."""
    random = np.random.default_rng(1)
    winners, others = random.normal(0.5, 1, 900), random.normal(0, 2, 1100)
    wins = (winners[:, None] > others).astype(float)
    variance = wins.mean(1).var(ddof=1) / 900 + wins.mean(0).var(ddof=1) / 1100
    found = area(winners, others)
    assert (found.high - found.low) / 2 == pytest.approx(1.959964 * math.sqrt(variance), rel=0.01)


def test_a_perfect_separation_of_few_stays_uncertain():
    assert area([5, 6, 7], [1, 2, 3, 4]).auc == 1
    assert area([5, 6, 7], [1, 2, 3, 4]).low < 0.5
    assert area([1, 2], [3, 4]).high > 0.5


def test_what_is_undefined_is_nan():
    assert math.isnan(area([], [1]).auc)
    assert math.isnan(area([1, 2], [1]).low)
    assert area([1, 2], [1]).auc == 0.75
    with pytest.raises(ValueError, match="NaN"):
        area([math.nan], [1])


def test_equal_scores_tell_nothing():
    assert area([1, 1, 1], [1, 1]) == area([1, 1], [1, 1, 1])
    assert area([1, 1, 1], [1, 1]).auc == 0.5
