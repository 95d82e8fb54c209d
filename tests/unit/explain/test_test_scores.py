"""Scores of cards on folds from which they were not learned, next to scikit-learn and to sums over sentences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score, roc_auc_score

from ops.explain.test_scores import Asked, resampling
from tests.unit.explain.score_cards_by_hand import FOLDS, World

DOCUMENTS = 40


def asked(seed: int, each: float, n: int = 300) -> Asked:
    """Sentences with few different scores, so that there are ties, and folds without winners."""
    rng = np.random.default_rng(seed)
    document = rng.integers(0, DOCUMENTS, n)
    fold = rng.integers(0, FOLDS, DOCUMENTS).astype(np.int8)[document]
    scores = np.round(rng.normal(size=(2, n)), 1)
    winner = (rng.random(n) < 1 / (1 + np.exp(2 - scores[0]))) & (fold != 3)
    winner[0] = True
    thresholds = rng.normal(size=FOLDS)
    return Asked(winner, document, fold, each, scores, scores >= thresholds[fold])


SEEDS, EACH = st.integers(0, 2**16), st.sampled_from([1.0, 0.75, 7.5, 900.0])


@given(SEEDS, EACH)
def test_precision_recall_and_f1_are_those_of_weighted_sentences(seed: int, each: float) -> None:
    """Where a sentence outside the winners stands for several, half of one more is called by mistake."""
    own = asked(seed, each)
    weight = np.where(own.winner, 1.0, each)
    for calls, called in zip(own.calls(), own.called, strict=True):
        truth, answer, by = own.winner, called, weight
        if each > 1:
            truth, answer, by = np.append(truth, False), np.append(answer, True), np.append(by, each / 2)
        assert calls.f1.value == pytest.approx(f1_score(truth, answer, sample_weight=by, zero_division=0))
        assert calls.recall.value == pytest.approx(recall_score(own.winner, called))
        if called.any():
            assert calls.precision.value == pytest.approx(precision_score(truth, answer, sample_weight=by))
        else:
            assert np.isnan(calls.precision.value)


@given(SEEDS, EACH)
def test_f1_of_each_fold_is_that_of_its_sentences(seed: int, each: float) -> None:
    own = asked(seed, each)
    for fold, value in enumerate(own.f1_by_fold(1)):
        some = own.fold == fold
        if not own.winner[some].any():
            assert np.isnan(value)
            continue
        weight = np.where(own.winner, 1.0, each)[some]
        assert value == pytest.approx(
            f1_score(own.winner[some], own.called[1, some], sample_weight=weight, zero_division=0)
        )


def ranked_by_hand(own: Asked, size: int, times: np.ndarray | None = None) -> tuple[float, float]:
    """Return average precision and area, the mean of the folds by winners; sentences may count several times."""
    found = []
    for fold in range(FOLDS):
        some = (own.fold == fold) & (True if times is None else times > 0)
        truth, scores = own.winner[some], own.scores[size, some]
        if not truth.any() or truth.all():
            continue
        often = np.ones(some.sum()) if times is None else times[some]
        weight = np.where(truth, 1.0, own.each) * often
        precision = average_precision_score(truth, scores, sample_weight=weight)
        found.append((often[truth].sum(), precision, roc_auc_score(truth, scores)))
    winners, precision, area = np.array(found).T
    return np.average(precision, weights=winners), np.average(area, weights=winners)


@given(SEEDS, EACH)
def test_average_precision_and_area_are_means_of_the_folds(seed: int, each: float) -> None:
    own = asked(seed, each)
    for size in range(2):
        found = own.ranked(size)
        assert (found.average_precision.value, found.auc) == pytest.approx(ranked_by_hand(own, size))
        assert np.isnan(found.average_precision.low)


@pytest.mark.parametrize("each", [1.0, 40.0])
def test_the_interval_is_that_of_documents_drawn_again(each: float) -> None:
    own, draws = asked(5, each, 600), resampling(DOCUMENTS, 0, 60)
    found = own.ranked(0, draws).average_precision
    again = [ranked_by_hand(own, 0, times[own.document].astype(float))[0] for times in draws.T]
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(again, (2.5, 97.5))))
    assert found.low < found.value < found.high


@pytest.mark.parametrize("seed", range(4))
def test_f1_falls_if_half_of_what_is_called_is_kept_or_as_many_others_are_called(seed: int) -> None:
    """The sanity tests of Neuron_Eval (2025), which areas under the ROC curve do not pass."""
    world = World(seed)
    winners = world.draw(np.where(world.has[:, 20] | world.has[:, 21], 3.0, -9.0))
    found = world.explainer().fold(winners, world.own())
    own, rng = found.asked, np.random.default_rng(seed)
    called, free = (np.flatnonzero(own.called[found.size] == wanted) for wanted in (True, False))
    assert found.calls.f1.value > 0.3
    for changed in (rng.choice(called, len(called) // 2, False), rng.choice(free, len(called), False)):
        other = own.called.copy()
        other[:, changed] ^= True
        worse = replace(own, called=other).calls()[found.size].f1
        lost = found.calls.f1.minus(worse)
        assert lost.low > 0


def test_resamples_are_seeded_and_of_one_mean() -> None:
    one = resampling(5_000, 3)
    assert (one.shape, one.dtype) == ((5_000, 200), np.uint8)
    np.testing.assert_array_equal(one, resampling(5_000, 3))
    assert (one != resampling(5_000, 4)).any()
    assert (one.mean(), one.var()) == pytest.approx((1, 1), abs=0.01)
