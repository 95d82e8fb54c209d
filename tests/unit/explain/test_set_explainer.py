"""An explanation from separate parts equals the one from the full matrix of sentences and literals."""

import math
from math import log

import numpy as np
import pytest

from ops.arrays import Bools, Int64s
from ops.explain.held_out_scores import evaluate, resampling
from ops.explain.known_literals import KnownLiterals
from ops.explain.score_card import Labelled, learn, learn_nuisance
from ops.explain.set_explainer import NONE, Known, Others, Own, SetExplainer
from ops.patterns.occurrences import Occurrences
from tests.unit.labelled_sentences import literals_of_documents, occurrences

LITERALS, NUISANCE, OWN = 60, 5, 3


class World:
    """A corpus: literals of the pool and of the set's own, and which of its sentences are known and which weigh."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.rng = rng
        shares = np.geomspace(0.004, 0.4, LITERALS + OWN).tolist()
        self.has, self.document = literals_of_documents(rng, rng.permutation(shares).tolist(), 800, 5)
        self.held_out = (rng.random(800) < 0.5)[self.document]
        n = len(self.has)
        self.known, self.sampled = rng.random(n) < 0.5, rng.random(n) < 0.2
        self.nuisance = np.arange(LITERALS) < NUISANCE
        self.plainness = rng.permutation(LITERALS)

    def explainer(self, weighs: Bools) -> SetExplainer:
        rows = np.flatnonzero(self.known | self.sampled)
        matrix = KnownLiterals(occurrences(self.has[rows, :LITERALS]), len(rows))
        known = Known(rows, weighs[rows], self.document[rows], self.held_out[rows], matrix)

        def find(rows: Int64s, which: Int64s | None) -> Occurrences:
            return occurrences(self.has[rows, :LITERALS][:, slice(None) if which is None else which])

        others = Others(find, self.document, self.held_out)
        return SetExplainer(known, others, self.nuisance, self.plainness, 8_000, resampling(800, 0), 6)

    def own(self) -> Own:
        rows = np.flatnonzero(self.known | self.sampled)
        of_rows = occurrences(self.has[rows, LITERALS:])
        nuisance = np.arange(OWN) == 0
        return Own(nuisance, 100 + np.arange(OWN), of_rows, lambda rows: occurrences(self.has[rows, LITERALS:]))

    def labelled(self, winners: Int64s, weighs: Bools) -> tuple[Int64s, Labelled]:
        """The sentences at hand, and their labels: those that weigh, and all winners."""
        wins = np.zeros(len(self.has), np.bool_)
        wins[winners] = True
        rows = np.flatnonzero(weighs | wins)
        weight = np.where(wins[rows], 1.0, (8_000 - len(winners)) / (~wins[rows]).sum())
        return rows, Labelled(wins[rows], weight, self.document[rows], self.held_out[rows])


@pytest.mark.parametrize("with_own", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_cards_and_scores_are_those_of_all_sentences_at_hand(seed: int, with_own: bool) -> None:
    sample_weighs = with_own == (seed % 2 == 0)
    world = World(seed)
    has, rng = world.has, world.rng
    wanted = has[:, 40] | has[:, 20] if seed % 3 else has[:, LITERALS + 1] | has[:, 2]
    winners = np.flatnonzero(wanted if seed < 5 else rng.random(len(has)) < 0.05)
    weighs = world.known | (world.sampled & sample_weighs)
    got = world.explainer(weighs).explain(winners, world.own() if with_own else NONE)
    rows, labelled = world.labelled(winners, weighs)
    all_has = has[rows] if with_own else has[rows, :LITERALS]
    nuisance = np.append(world.nuisance, [True, False, False]) if with_own else world.nuisance
    plainness = np.append(world.plainness, 100 + np.arange(OWN)) if with_own else world.plainness
    found = occurrences(all_has)
    # Names by rank: of the pool by the sentences at hand that weigh and that are of the training half, then one's own.
    ranked = has[weighs & ~world.held_out, :LITERALS].sum(0).astype(float)
    cost = np.empty(len(nuisance))
    for kind in (True, False):
        names = sorted(
            np.flatnonzero(nuisance == kind), key=lambda i: (i >= LITERALS, -ranked[i] if i < LITERALS else i)
        )
        in_pool = sum(name < LITERALS for name in names)
        for rank, name in enumerate(names, 1):
            n = in_pool if name < LITERALS else len(names)
            cost[name] = max(min(log(rank) + log(sum(1 / r for r in range(1, n + 1))), log(n)) + 1, 3)
    card = learn(found, labelled, nuisance, plainness, cost)
    scores = evaluate(card, found, labelled, resampling(800, 0))
    assert got.card.literals.tolist() == card.literals.tolist()
    assert len(card.literals) or seed == 5
    assert (got.card.single, got.card.single_negated) == (card.single, card.single_negated)
    for name in ("weights", "intercept", "threshold"):
        np.testing.assert_allclose(getattr(got.card, name), getattr(card, name), atol=2e-6)
    for name, value in vars(scores).items():
        np.testing.assert_allclose(getattr(got.scores, name), value, rtol=1e-6, atol=1e-9, err_msg=name)
    alone = learn_nuisance(found, labelled, nuisance, plainness, cost)
    assert got.nuisance_f1 == pytest.approx(evaluate(alone, found, labelled, None).f1, nan_ok=True)
    for literal, weight, own in zip(card.literals, card.weights, got.has, strict=True):
        assert own.tolist() == winners[has[winners, literal] == (weight > 0)].tolist()


def test_terms_and_intervals_are_left_out_where_they_are_not_asked_for() -> None:
    world = World(1)
    winners = np.flatnonzero(world.has[:, 40] | world.has[:, 20])
    explainer = world.explainer(world.known)
    whole, less = explainer.explain(winners), explainer.explain(winners, intervals=False, terms=False)
    assert whole.scores.f1 == less.scores.f1
    assert len(whole.has) == len(whole.card.literals) == len(less.scores.gains)
    assert whole.scores.f1_low < whole.scores.f1
    assert not less.has
    assert np.isnan(less.scores.gains).all()
    assert math.isnan(less.scores.f1_low)


@pytest.mark.parametrize("winners", [0, 1, 3_900])
def test_sets_of_which_nothing_can_be_told(winners: int) -> None:
    """No winner, one, and nearly all sentences: a card without literals."""
    world = World(2)
    some = np.sort(world.rng.choice(len(world.has), winners, replace=False))
    found = world.explainer(world.known).explain(some, world.own())
    assert not len(found.card.literals)
