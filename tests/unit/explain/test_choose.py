"""The gain of a literal, the fit and the threshold of a card, and what the choice of literals finds."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ops.arrays import Bools
from ops.bits import Layout
from ops.explain.choose import best_threshold, fit, gain_of
from ops.explain.training import Candidates, Lesson, Sentences
from ops.statistics.association import signed_g2
from tests.unit.explain.score_cards_by_hand import fit as fit_by_hand
from tests.unit.explain.score_cards_by_hand import gain, threshold


@given(st.integers(1, 40), st.integers(1, 400), st.sampled_from([0.0, 0.5, 40.0]), st.data())
def test_the_gain_is_that_of_two_likelihoods(winners: int, rest: int, half: float, data: st.DataObject) -> None:
    a, c = data.draw(st.integers(0, winners)), data.draw(st.integers(0, rest))
    n, total = a + c, winners + rest
    expected = data.draw(st.floats(0.05, 0.95)) * n * winners / total
    every = (winners, winners, total)
    found = gain_of(a, expected, n, *every, half)
    assert found == pytest.approx(gain(a, expected, n, every, half), abs=1e-9)
    alone = gain_of(a, n * winners / total, n, *every, 0.0)
    assert alone == pytest.approx(abs(signed_g2([a], winners, [c], rest)[0]) / 2, abs=1e-9)


def grouped(has: Bools, winner: Bools) -> tuple[np.ndarray, ...]:
    groups, which = np.unique(has, axis=0, return_inverse=True)
    hits = np.bincount(which.ravel(), winner, len(groups))
    return groups, hits, np.bincount(which.ravel(), ~winner, len(groups)).astype(float)


@given(st.integers(1, 5), st.integers(0, 2**16), st.sampled_from([1.0, 30.0, 800.0]))
def test_the_fit_is_that_of_a_general_optimiser_and_of_a_logistic_regression(
    literals: int, seed: int, each: float
) -> None:
    rng = np.random.default_rng(seed)
    has = rng.random((400, literals)) < rng.uniform(0.02, 0.6, literals)
    winner = rng.random(400) < 1 / (1 + np.exp(1.5 - has @ rng.normal(0, 2, literals)))
    winner[:2] = [True, False]
    groups, hits, rest = grouped(has, winner)
    found = fit(groups, hits, rest * each, each / 2, np.zeros(1 + literals))
    np.testing.assert_allclose(found, fit_by_hand(has, winner, each), rtol=1e-4, atol=1e-4)
    design = np.concatenate((groups, np.eye(literals, dtype=bool)))
    positive, weight = np.append(hits, np.zeros(literals)), np.append(hits + rest * each, np.full(literals, each / 2))

    def loss(beta: np.ndarray) -> float:
        scores = beta[0] + design @ beta[1:]
        return float(weight @ np.logaddexp(0, scores) - positive @ scores + beta[1:] @ beta[1:] / 50)

    best = minimize(loss, fit_by_hand(has, winner, each), method="BFGS")
    assert loss(found) <= best.fun + 1e-6 * max(1, abs(best.fun))


@pytest.mark.parametrize("start", [[0.0, 0.0], [0.0, 30.0], [-20.0, -15.0]])
def test_weights_stay_finite_and_do_not_depend_on_the_start(start: list[float]) -> None:
    """The literal is in 40 of 100 winners, and in none or all of a sample that represents 80 million others."""
    has, begin = np.array([[False], [True]]), np.array(start)
    own = fit(has, np.array([60.0, 40.0]), np.array([8e7, 0.0]), 400.0, begin)
    assert 1 / (1 + np.exp(-own.sum())) == pytest.approx(40 / 440, rel=0.02)
    never = fit(has, np.array([100.0, 0.0]), np.array([4e7, 4e7]), 400.0, begin)
    assert -12 < never[1] < -5


@given(st.integers(1, 12), st.integers(0, 2**16), st.sampled_from([0.5, 1.0, 17.0]))
def test_the_threshold_has_the_highest_f1(levels: int, seed: int, each: float) -> None:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=levels), 1)[rng.integers(0, levels, 60)]
    winner = rng.random(60) < 0.3
    winner[0] = True
    weight = np.where(winner, 1.0, each)
    values, which = np.unique(scores, return_inverse=True)
    order = rng.permutation(len(values))
    hits, others = (np.bincount(which, some)[order] for some in (winner, weight * ~winner))
    assert best_threshold(values[order], hits, others) == pytest.approx(threshold(scores, winner, weight))


def lesson(has: Bools, winner: Bools, known: Bools, document: np.ndarray, cost: float, nuisance: int = 0) -> Lesson:
    """Return the lesson of a corpus whose documents are divided into ten folds; the first literals are nuisance."""
    fold = (document % 10).astype(np.int8)
    rows = (np.flatnonzero(winner), np.flatnonzero(known & ~winner))
    winners, others = (Sentences.of(document[own], fold[own]) for own in rows)
    bits = [as_bits(has[own].T, some.layout) for own, some in zip(rows, (winners, others), strict=True)]
    size = has.shape[1]
    literals, listed = np.arange(size), np.ones((11, size), bool)
    candidates = Candidates(*bits, np.full(size, -1), literals < nuisance, literals, np.full((size, 11), cost), listed)
    return Lesson(winners, others, np.count_nonzero(~winner) / len(rows[1]), candidates)


def as_bits(has: Bools, layout: Layout) -> np.ndarray:
    by_bit = np.stack([layout.values(own) for own in has])
    return np.packbits(by_bit, axis=1, bitorder="little").view(np.uint64)


def corpus(seed: int, n: int = 20_000) -> tuple[Bools, np.ndarray, Bools]:
    """Return literals, documents of ten sentences, and which fifth of the sentences is known."""
    rng = np.random.default_rng(seed)
    share = [0.03, 0.02, 0.01, 0.3, 0.1, *np.geomspace(0.002, 0.2, 25).tolist(), 0.85]
    return rng.random((n, len(share))) < share, np.arange(n) // 10, rng.random(n) < 0.2


@pytest.mark.parametrize(
    ("winner", "literals", "negated"),
    [
        (lambda has: has[:, 0], {0}, set()),
        (lambda has: has[:, :3].any(1), {0, 1, 2}, set()),
        (lambda has: has[:, 0] & ~has[:, 3], {0, 3}, {3}),
        (lambda has: (has[:, 0] | has[:, 4]) & ~has[:, 3], {0, 3, 4}, {3}),
        (lambda has: has[:, 0] & has[:, 3], {0, 3}, set()),
        (lambda has: ~has[:, 30], {30}, {30}),
    ],
)
def test_planted_functions_are_found(winner: object, literals: set[int], negated: set[int]) -> None:
    has, document, known = corpus(0)
    path = lesson(has, winner(has), known, document, 12.0).learn(-1)  # type: ignore[operator]
    assert path is not None
    assert set(path.literals.tolist()) == literals
    weights = dict(zip(path.literals.tolist(), path.beta[-1, 1:].tolist(), strict=True))
    assert {literal for literal, weight in weights.items() if weight < 0} == negated


def test_random_sets_get_no_literal() -> None:
    """In at most one in twenty, of 200 literals, one in four hundred sentences among them."""
    rng, wrong = np.random.default_rng(8), 0
    has, document = rng.random((10_000, 200)) < np.geomspace(0.0025, 0.5, 200), np.arange(10_000) // 10
    for size, share in product((60, 300, 1_000), (0.1, 1.0)):
        for _ in range(10):
            wins, known = rng.permutation(10_000) < size, rng.random(10_000) < share
            path = lesson(has, wins, known, document, np.log(200) + 1).learn(-1)
            wrong += path is not None and len(path.literals) > 0
    assert wrong <= 3


def test_what_one_document_shows_is_seen_once() -> None:
    """A literal that 60 winners have, all of them in one document, is no finding; in 60 documents it is."""
    has, wins = np.arange(6_000)[:, None] < 60, np.arange(6_000) < 300
    for document, expected in ((np.arange(6_000) // 60, 0), (np.arange(6_000) % 100, 1)):
        path = lesson(has, wins, np.ones(6_000, bool), document, np.log(20) + 1).learn(-1)
        assert path is not None
        assert len(path.literals) == expected


def test_sizes_count_no_nuisance_and_there_are_no_more_literals_than_asked_for() -> None:
    has, document, known = corpus(12)
    winner = has[:, [0, 1, 2, 5, 6, 7, 8, 9]].any(1)
    for nuisance, most in ((0, 6), (0, 2), (0, 0), (5, 3)):
        path = lesson(has, winner, known, document, 12.0, nuisance).learn(-1, most=most)
        assert path is not None
        of_nuisance = int((path.literals < nuisance).sum())
        assert of_nuisance == min(nuisance, 3)
        assert path.ends.tolist() == [of_nuisance + size for size in range(most + 1)]
        assert (path.literals[:of_nuisance] < nuisance).all()
        assert np.isinf(path.threshold).tolist() == (path.ends == 0).tolist()
    allowed = np.arange(has.shape[1]) != 0
    path = lesson(has, winner, known, document, 12.0).learn(-1, allowed)
    assert path is not None
    assert 0 not in path.literals
