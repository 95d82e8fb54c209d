import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score, roc_auc_score

from ops.explain.cells import Cells, fit_cells
from ops.explain.held_out_scores import MEASURES, CardScores, evaluate, resampling
from ops.explain.score_card import Labelled, ScoreCard
from ops.explain.verdict import verdict
from tests.unit.labelled_sentences import Sample, literals_of_documents, occurrences, sample

NONE: list[np.ndarray] = []


def drawn(seed: int, literals: int = 4, documents: int = 60, each: int = 8) -> tuple[Sample, ScoreCard]:
    rng = np.random.default_rng(seed)
    has, document = literals_of_documents(rng, rng.uniform(0.02, 0.5, literals).tolist(), documents, each)
    wins = rng.random(len(has)) < 1 / (1 + np.exp(2 - has @ rng.normal(0, 1.5, literals)))
    found = sample(rng, has, document, wins, len(has) // 2)
    chosen = rng.permutation(literals)[: rng.integers(0, literals + 1)]
    weights = np.round(rng.choice([-1.5, 0.5, 1.0, 2.0], len(chosen)), 6)
    card = ScoreCard(
        chosen, weights, -1.0, rng.uniform(-2, 1), NONE * len(chosen), int(rng.integers(literals)), seed % 2 == 0
    )
    return found, card


@given(st.integers(0, 2**16))
def test_scores_are_those_of_scikit_learn(seed: int) -> None:
    found, card = drawn(seed)
    labels = found.labelled
    scores = evaluate(card, found.found, labels, None)
    test = labels.held_out
    truth, weight = labels.winner[test], labels.weight[test]
    value = card.scores(found.has[:, card.literals])
    assert scores.n_test == truth.sum()
    assert scores.n_train == labels.winner.sum() - truth.sum()
    assert scores.test_documents == len(set(labels.document[test & labels.winner].tolist()))
    called = value >= card.threshold
    assert scores.share == pytest.approx(called[labels.winner].mean())
    assert scores.baseline_share == pytest.approx(called[~labels.winner].mean())
    for i, literal in enumerate(card.literals):
        stated = found.has[:, literal] ^ (card.weights[i] < 0)
        assert scores.shares[i] == pytest.approx(stated[labels.winner].mean())
        assert scores.baseline_shares[i] == pytest.approx(stated[~labels.winner].mean())
    if labels.too_many or not truth.any() or truth.all():
        assert math.isnan(scores.average_precision)
        return
    value, called = value[test], called[test]
    given_weight = {"sample_weight": weight}
    assert scores.average_precision == pytest.approx(average_precision_score(truth, value, **given_weight))
    assert scores.auc == pytest.approx(roc_auc_score(truth, value, **given_weight))
    assert scores.f1 == pytest.approx(f1_score(truth, called, zero_division=0, **given_weight))
    assert scores.recall == pytest.approx(recall_score(truth, called, **given_weight))
    if called.any():
        assert scores.precision == pytest.approx(precision_score(truth, called, **given_weight))
    else:
        assert math.isnan(scores.precision)
    single = found.has[test, card.single] ^ card.single_negated
    assert scores.single_f1 == pytest.approx(f1_score(truth, single, zero_division=0, **given_weight))
    assert math.isnan(scores.f1_low)


@pytest.mark.slow
@given(st.integers(0, 2**16))
@example(seed=3062)  # its winners are of so few documents that some samples have none
def test_intervals_are_percentiles_of_scores_made_again_with_documents_drawn(seed: int) -> None:
    found, card = drawn(seed)
    labels = found.labelled
    drawn_documents = resampling(60, seed, 40)
    scores = evaluate(card, found.found, labels, drawn_documents)
    test = labels.held_out
    if math.isnan(scores.f1) or len(np.unique(labels.document[test])) < 10:
        assert math.isnan(scores.f1_low)
        return
    truth, value = labels.winner[test], card.scores(found.has[test][:, card.literals])
    single = found.has[test, card.single] ^ card.single_negated
    again: list[list[float]] = []
    for times in drawn_documents.T:
        weight = labels.weight[test] * times[labels.document[test]]
        if weight[truth].sum():
            called = value >= card.threshold
            hits = weight[truth & called].sum()
            again.append(
                [
                    average_precision_score(truth, value, sample_weight=weight),
                    hits / weight[called].sum() if weight[called].sum() else math.nan,
                    hits / weight[truth].sum(),
                    2 * hits / (weight[called].sum() + weight[truth].sum()),
                    2 * weight[truth & single].sum() / (weight[single].sum() + weight[truth].sum()),
                ]
            )
    for name, values in zip(MEASURES, np.array(again).T, strict=True):
        known = values[~np.isnan(values)]
        if len(known) and known.min() < known.max() - 1e-12:
            ends = np.nanpercentile(values, (2.5, 97.5))
            assert (getattr(scores, name + "_low"), getattr(scores, name + "_high")) == pytest.approx(tuple(ends))


def test_gains_are_what_is_lost_without_a_literal_and_the_others_fitted_again() -> None:
    rng = np.random.default_rng(0)
    has, document = literals_of_documents(rng, [0.05, 0.05, 0.3, 0.1], 1_000, 5)
    found = sample(rng, has, document, has[:, 0] | (has[:, 1] & ~has[:, 2]), 3_000)
    card, labels = found.learn(candidates=4), found.labelled
    scores = evaluate(card, found.found, labels, None)
    assert card.literals.tolist() == [0, 1, 2]
    train, test = ~labels.held_out, labels.held_out
    for i in range(3):
        left = np.delete(card.literals, i)
        cells = Cells.by(occurrences(found.has[train]), left, int(train.sum()))
        rest, winners = cells.counts(labels.winner[train].astype(np.uint8), 2).T
        each = labels.baseline_weight
        fit = fit_cells(cells.has, winners * 1.0, rest * each, each / 2)
        value = np.round(fit.scores(found.has[test][:, left]), 5)
        without = average_precision_score(labels.winner[test], value, sample_weight=labels.weight[test])
        assert scores.gains[i] == pytest.approx(scores.average_precision - without, abs=1e-6)
    assert (scores.gains > 0).all()
    assert scores.gains[0] > scores.gains[2]


def scored(found: Sample) -> CardScores:
    documents = int(found.labelled.document.max()) + 1
    return evaluate(found.learn(candidates=200), found.found, found.labelled, resampling(documents, 0))


@pytest.mark.parametrize("apart", [0.0, 1.0])
def test_random_sets_are_not_explained(apart: float) -> None:
    rng, explained = np.random.default_rng(3), 0
    has, document = literals_of_documents(rng, np.geomspace(0.005, 0.5, 60).tolist(), 400, 20, apart)
    for _ in range(30):
        sets = []
        for _ in range(2):
            wins = np.zeros(len(has), np.bool_)
            wins[rng.choice(len(has), 200, replace=False)] = True
            sets.append(sample(rng, has, document, wins, 3_000))
        own, random = (scored(one) for one in sets)
        known = {"n_test": own.n_test, "test_documents": own.test_documents, "f1_low": own.f1_low}
        known |= {"random_f1": random.f1, "nuisance_f1": math.nan, "matched_f1": math.nan}
        explained += verdict(literals=len(own.gains), **known) == "explained"
    assert explained <= 1


@pytest.mark.parametrize("case", ["empty", "no test winners", "no test half", "more than half", "one document"])
def test_scores_that_are_undefined_are_nan(case: str) -> None:
    n = 0 if case == "empty" else 400
    rng = np.random.default_rng(4)
    has = rng.random((n, 3)) < 0.3
    winner = np.arange(n) < (300 if case == "more than half" else 80)
    held_out = np.arange(n) % 2 == (1 if n else 0)
    if case == "no test winners":
        winner &= ~held_out
    if case == "no test half":
        held_out[:] = False
    document = np.zeros(n, np.int64) if case == "one document" else np.arange(n) // 4
    labels = Labelled(winner, np.ones(n), document, held_out)
    card = ScoreCard(np.array([1]), np.array([1.0]), -2.0, -1.5, [np.zeros(0, np.int64)], 1, False)
    scores = evaluate(card, occurrences(has), labels, resampling(400, 0, 20))
    assert math.isnan(scores.f1) == (case != "one document")
    assert math.isnan(scores.f1_low)
    assert math.isnan(scores.gains[0]) == (case != "one document")
    assert math.isnan(scores.share) == (n == 0)
    assert (scores.n_test == 0) == (case in ("empty", "no test winners", "no test half"))


def test_resamples_are_seeded_and_of_one_mean() -> None:
    one = resampling(5_000, 3)
    assert one.shape == (5_000, 200)
    assert one.dtype == np.uint8
    np.testing.assert_array_equal(one, resampling(5_000, 3))
    assert (one != resampling(5_000, 4)).any()
    assert one.mean() == pytest.approx(1, abs=0.01)
    assert one.var() == pytest.approx(1, abs=0.01)
