import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from ops.arrays import Bools
from ops.explain.held_out_scores import evaluate
from ops.explain.score_card import Labelled, ScoreCard, Training, chances, learn, learn_nuisance
from tests.unit.labelled_sentences import Sample, literals_of_documents, occurrences, sample

SHARES = [0.03, 0.02, 0.01, 0.3, 0.1, *np.geomspace(0.002, 0.2, 25).tolist(), 0.85]


def planted(winner: Bools | None, has: Bools, seed: int, documents: int = 2_000, baseline: int = 4_000) -> Sample:
    document = np.arange(len(has)) * documents // len(has)
    return sample(np.random.default_rng(seed), has, document, winner, baseline)


def corpus(seed: int, sentences: int = 20_000) -> Bools:
    return literals_of_documents(np.random.default_rng(seed), SHARES, sentences // 10, 10)[0]


def f1(card: ScoreCard, found: Sample) -> float:
    return evaluate(card, found.found, found.labelled, None).f1


@pytest.mark.parametrize(
    ("winner", "literals", "negated"),
    [
        (lambda has: has[:, 0], {0}, set()),
        (lambda has: has[:, 0] | has[:, 1], {0, 1}, set()),
        (lambda has: has[:, 0] | has[:, 1] | has[:, 2], {0, 1, 2}, set()),
        (lambda has: has[:, 0] & ~has[:, 3], {0, 3}, {3}),
        (lambda has: (has[:, 0] | has[:, 4]) & ~has[:, 3], {0, 3, 4}, {3}),
        (lambda has: has[:, 0] & has[:, 3], {0, 3}, set()),
        (lambda has: ~has[:, 30], {30}, {30}),
    ],
)
def test_planted_functions_are_found(winner: object, literals: set[int], negated: set[int]) -> None:
    for seed in range(3):
        has = corpus(seed)
        found = planted(winner(has), has, seed)
        card = found.learn()
        assert set(card.literals[: len(literals)].tolist()) == literals
        assert set(card.literals[card.weights < 0].tolist()) >= negated
        assert f1(card, found) > 0.97
        assert len(card.literals) == len(literals)


def test_the_rest_of_the_corpus_weighs_as_much_as_it_is() -> None:
    """A literal that all winners have, and a third of all sentences, stays behind a precise one that half of them have.

    In the sentences given here, half of them winners, the first literal is more informative.
    """
    rng = np.random.default_rng(1)
    n = 200_000
    wins = np.zeros(n, np.bool_)
    wins[rng.choice(n, 400, replace=False)] = True
    has = np.column_stack([wins | (rng.random(n) < 0.33), wins & (rng.random(n) < 0.5) | (rng.random(n) < 1e-5)])
    found = sample(rng, has, np.arange(n) // 5, wins, 400)
    assert found.learn().literals[0] == 1
    scores = evaluate(found.learn(), found.found, found.labelled, None)
    assert scores.recall == pytest.approx(0.5, abs=0.1)
    assert scores.precision > 0.9


def test_one_of_near_copies_is_shown_and_the_others_are_named() -> None:
    has = corpus(2)
    noise = np.random.default_rng(2).random((len(has), 3)) < 0.0005
    copies = has[:, [0]] ^ noise
    found = planted(has[:, 0], np.column_stack([copies, has]), 2)
    plainness = np.arange(found.has.shape[1])[::-1].copy()
    nothing = np.zeros(found.has.shape[1], np.bool_)
    card = learn(found.found, found.labelled, nothing, plainness, found.cost())
    assert card.literals.tolist() == [3]
    assert card.also[0].tolist() == [0, 1, 2]
    nothing[1] = True
    card = learn(found.found, found.labelled, nothing, plainness, found.cost())
    assert card.literals.tolist() == [1]
    assert card.also[0].tolist() == [0, 2, 3]


def test_nuisance_comes_first_and_apart() -> None:
    """Winners are short sentences; a word that only short sentences have adds nothing."""
    rng = np.random.default_rng(3)
    words = rng.integers(1, 40, 20_000)
    lengths = words[:, None] <= np.array([4, 8, 12, 16, 20, 24, 28, 32, 36])
    has = np.column_stack([lengths, (words < 10) & (rng.random(20_000) < 0.4), corpus(3)])
    nuisance = tuple(range(9))
    found = planted((words <= 8) & (rng.random(20_000) < 0.5), has, 3)
    card = found.learn(nuisance)
    assert card.literals.tolist() == [1]
    assert f1(card, found) == pytest.approx(2 / 3, abs=0.05)
    between = planted((words > 8) & (words <= 12) | has[:, 10], has, 3).learn(nuisance)
    assert set(between.literals[:2].tolist()) == {1, 2}
    assert dict(zip(between.literals.tolist(), between.weights > 0, strict=True)) == {2: True, 1: False, 10: True}
    assert learn_nuisance_of(found, nuisance).literals.tolist() == [1]


def learn_nuisance_of(found: Sample, nuisance: tuple[int, ...]) -> ScoreCard:
    literals = np.arange(found.has.shape[1])
    return learn_nuisance(found.found, found.labelled, np.isin(literals, nuisance), literals, found.costs(nuisance))


def test_the_nuisance_card_is_the_first_part_of_the_whole_one() -> None:
    has = corpus(4)
    found = planted((has[:, 3] & has[:, 4]) | has[:, 0] | has[:, 1], has, 4)
    nuisance = (3, 4, 7, 9)
    base, whole = learn_nuisance_of(found, nuisance), found.learn(nuisance)
    assert len(base.literals) == 2
    assert whole.literals[:2].tolist() == base.literals.tolist()
    assert base.single in nuisance
    literals = np.arange(has.shape[1])
    training = Training.of(found.found, found.labelled, np.isin(literals, nuisance), literals)
    for one, other in zip(training.learn(found.costs(nuisance)), (base, whole), strict=True):
        for name in ("literals", "weights", "intercept", "threshold"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_test_documents_do_not_matter() -> None:
    has = corpus(7)
    found = planted(has[:, 0] | has[:, 1], has, 7)
    other, labels = found.has.copy(), found.labelled
    rng = np.random.default_rng(0)
    other[labels.held_out] = rng.random((labels.held_out.sum(), has.shape[1])) < 0.5
    card = found.learn((3,))
    again = Sample(other, labels).learn((3,))
    for name in ("literals", "weights", "intercept", "threshold", "single", "single_negated"):
        np.testing.assert_array_equal(getattr(card, name), getattr(again, name))
    # Their number of winners does: winners are a part of the corpus.
    assert len(card.literals) == 2


@given(st.integers(0, 2**16), st.integers(1, 4))
def test_the_threshold_and_the_best_single_literal_have_the_highest_f1(seed: int, literals: int) -> None:
    rng = np.random.default_rng(seed)
    has, document = literals_of_documents(rng, rng.uniform(0.05, 0.6, literals).tolist(), 60, 5)
    wins = rng.random(300) < 1 / (1 + np.exp(2 - has @ rng.normal(0, 2, literals)))
    found = sample(rng, has, document, wins, 120)
    card = found.learn(candidates=1)
    labels = found.labelled
    train = ~labels.held_out
    if labels.too_many or not labels.winner[train].any():
        assert card.single == -1
        return
    truth, weight = labels.winner[train], labels.weight[train]
    scores = card.scores(found.has[train][:, card.literals])
    best = max(f1_score(truth, scores >= level, sample_weight=weight) for level in np.unique(scores))
    assert f1_score(truth, scores >= card.threshold, sample_weight=weight) == pytest.approx(best)
    called = [
        (f1_score(truth, found.has[train, i] ^ negated, sample_weight=weight), not negated, -i)
        for i, negated in product(range(literals), (False, True))
        if 0 < found.has[train, i].sum() < train.sum()
    ]
    own = f1_score(truth, found.has[train, card.single] ^ card.single_negated, sample_weight=weight)
    assert own == pytest.approx(max(called)[0])


def test_random_sets_get_no_literal() -> None:
    """In at most one in twenty, of 200 literals, one in four hundred sentences among them."""
    rng, wrong = np.random.default_rng(8), 0
    has, document = literals_of_documents(rng, np.geomspace(0.0025, 0.5, 200).tolist(), 1_000, 10)
    for size, baseline in product((60, 300, 1_000), (1_000, 10_000)):
        for _ in range(10):
            wins = np.zeros(len(has), np.bool_)
            wins[rng.choice(len(has), size, replace=False)] = True
            wrong += len(sample(rng, has, document, wins, baseline).learn(candidates=200).literals) > 0
    assert wrong <= 3


def test_what_one_document_shows_is_seen_once() -> None:
    """A literal that 60 winners have, all of them in one document, is no finding; in 60 documents it is."""
    has = np.zeros((6_000, 1), np.bool_)
    wins = np.arange(6_000) < 300
    has[:60] = True
    held_out = np.zeros(6_000, np.bool_)
    weight = np.where(wins, 1.0, 10.0)
    for document, expected in ((np.arange(6_000) // 60, 0), (np.arange(6_000) % 100, 1)):
        labels = Labelled(wins, weight, document, held_out)
        none, cost = np.zeros(1, np.bool_), np.full(1, math.log(20) + math.log(300) / 2)
        card = learn(occurrences(has), labels, none, np.zeros(1, np.int64), cost)
        assert len(card.literals) == expected
        one = Labelled(wins, weight, np.zeros(6_000, np.int64), held_out)
        assert not len(learn(occurrences(has), one, none, np.zeros(1, np.int64), cost).literals)


@pytest.mark.parametrize("case", ["empty", "no winner", "winners only", "more than half", "no literals", "no training"])
def test_nothing_to_learn_from(case: str) -> None:
    n = 0 if case == "empty" else 40
    winner = np.arange(n) < {"no winner": 0, "winners only": 40, "more than half": 30}.get(case, 10)
    weight = np.where(winner, 1.0, 2.0)
    held_out = np.full(n, True) if case == "no training" else np.arange(n) % 2 == 0
    literals = 0 if case == "no literals" else 3
    has = np.random.default_rng(0).random((n, literals)) < 0.3
    nuisance, plainness, cost = np.arange(literals) == 0, np.arange(literals), np.zeros(literals)
    labels = Labelled(winner, weight, np.arange(n), held_out)
    for card in (
        learn(occurrences(has), labels, nuisance, plainness, cost),
        learn_nuisance(occurrences(has), labels, nuisance, plainness, cost),
    ):
        assert not len(card.literals)
        assert card.single == -1
        assert card.threshold < card.intercept
    assert chances(card, occurrences(has), n).shape == (n,)


def test_no_more_literals_than_asked_for() -> None:
    has = corpus(12)
    # The last literals are in no sentence, and are no candidates.
    found = planted(has[:, [0, 1, 2, 5, 6, 7, 8, 9]].any(1), np.column_stack([has, np.zeros((len(has), 2), bool)]), 12)
    assert len(found.learn().literals) == 6
    assert len(found.learn(most=2).literals) == 2
    assert not len(found.learn(most=0).literals)
    some = found.learn((0, 1, 2, 5, 6), most_nuisance=2)
    assert np.isin(some.literals, [0, 1, 2, 5, 6]).tolist() == [True, True] + [False] * (len(some.literals) - 2)
