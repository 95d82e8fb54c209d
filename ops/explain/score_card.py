"""What makes a sentence a winner: a score card of few literals, learnt from the training half of the documents."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from scipy.special import expit

from ops.arrays import Bools, Float64s, Int64s, UInt8s
from ops.compiled import compiled
from ops.explain.card_choice import Half, Having, Made, choose
from ops.explain.cells import Cells, Fit
from ops.explain.screening import sums_by_literal
from ops.explain.some_occurrences import of_literals, of_sentences
from ops.patterns.occurrences import Occurrences

DECIMALS = 6  # of weights, so that scores do not depend on the machine or on the order of addition
NO_LITERALS = Occurrences(np.zeros(0, np.int32), np.zeros(1, np.int64))


@dataclass(frozen=True)
class Labelled:
    """Sentences, some of which are winners.

    Attributes:
        winner: `[n]` bool.
        weight: number of corpus sentences that each represents, `[n]`: 1 for a winner, the same for all others.
        document: code of each sentence's document, from 0, `[n]`.
        held_out: whether that document is in the test half, `[n]` bool.
    """

    winner: Bools
    weight: Float64s
    document: Int64s
    held_out: Bools

    @cached_property
    def sides(self) -> UInt8s:
        """Return a number from 0 to 3 for each sentence, `[n]`: 2 if it is held out, plus 1 if it is a winner."""
        return 2 * self.held_out.astype(np.uint8) + self.winner

    @cached_property
    def too_many(self) -> bool:
        """Return whether winners are more than half of the corpus, so that nothing is learnt or scored."""
        winners = int(np.count_nonzero(self.winner))
        return winners > (len(self.winner) - winners) * self.baseline_weight

    @cached_property
    def baseline_weight(self) -> float:
        """Return how many corpus sentences one sentence outside the winners represents; 1 if there is none."""
        first = int(np.argmin(self.winner)) if len(self.winner) else 0
        return float(self.weight[first]) if first < len(self.winner) and not self.winner[first] else 1.0


@dataclass(frozen=True)
class ScoreCard:
    """A few literals with weights. A sentence's score is the intercept plus the weights of the literals it has.

    Attributes:
        literals: indices into the given literals, `[m]`: nuisance first, then language, each in the order of choice.
        weights: log-odds, `[m]`, rounded to 6 decimals; a negative weight counts against a winner.
        intercept: log-odds of a sentence with none of the literals, rounded to 6 decimals.
        threshold: a sentence with a score of at least this is called a winner.
        also: the near-copies of each literal, as indices, ascending.
        single: index of the best single literal by its F1 on the training half; -1 if there is none.
        single_negated: whether sentences without that literal, and not those with it, are called winners.
    """

    literals: Int64s
    weights: Float64s
    intercept: float
    threshold: float
    also: list[Int64s]
    single: int
    single_negated: bool

    def scores(self, has: Bools) -> Float64s:
        """Return the score of sentences that have these literals of the card, `has [k, m]`, rounded."""
        return np.round(self.intercept + has @ self.weights, DECIMALS)

    def renumbered(self, number: Int64s) -> Self:
        """Return the card with its literals renumbered by `number`, `[L]`."""
        return type(self)(
            number[self.literals],
            self.weights,
            self.intercept,
            self.threshold,
            [number[places] for places in self.also],
            int(number[self.single]) if self.single >= 0 else -1,
            self.single_negated,
        )


# For a training half from which nothing can be learnt: every sentence is called a winner.
NOTHING = ScoreCard(np.zeros(0, np.int64), np.zeros(0), 0.0, -1.0, [], -1, False)


def learn(
    found: Occurrences,
    labelled: Labelled,
    nuisance: Bools,
    plainness: Int64s,
    cost: Float64s,
    most: int = 6,
    most_nuisance: int = 3,
) -> ScoreCard:
    """Return the score card of a set of winners, learnt from the training half alone.

    The card is a logistic regression at the corpus's own rate of winners (`fit_cells`). Near-copies are merged first:
    each group of them is one literal, represented by its plainest, and a copy of a nuisance literal is nuisance.
    Literals are then added one at a time: the one whose gain in penalised log-likelihood exceeds its cost most.
    Nuisance literals are added first, then the others.

    Two numbers have to exceed the cost: the gain at the corpus's rate, and the evidence. The evidence is the gain if
    each available sentence counts once, divided by its design effect. That effect is the variance of the gain's slope
    by document divided by its variance by sentence: a pattern of one document only counts as found once.

    The threshold is the one with the highest F1 at the corpus's rate. If winners are more than half of the corpus, or
    the training half has no winners or nothing but winners, the card has no literal and calls every sentence a winner.

    Args:
        found: the sentences that have each of L literals.
        labelled: the sentences.
        nuisance: which literals are nuisance, `[L]`.
        plainness: the plainness of each literal, `[L]`; the smallest is the plainest.
        cost: the cost of each literal, in nats, `[L]` (see `literal_costs`).
        most, most_nuisance: maximum number of literals on the card that are not nuisance, and that are.
    """
    return Training.of(found, labelled, nuisance, plainness).learn(cost, most, most_nuisance)[1]


def learn_nuisance(
    found: Occurrences, labelled: Labelled, nuisance: Bools, plainness: Int64s, cost: Float64s, most_nuisance: int = 3
) -> ScoreCard:
    """Return the score card of nuisance literals alone, learnt as `learn` does.

    Its arguments are those of `learn`. Literals that are not nuisance are ignored.
    """
    places = np.flatnonzero(nuisance)
    training = Training.of(of_literals(found, places), labelled, nuisance[places], plainness[places])
    return training.learn(cost[places], 0, most_nuisance)[0].renumbered(places)


def chances(card: ScoreCard, found: Occurrences, sentences: int) -> Float64s:
    """Return the probability that each sentence is a winner according to the card, `[n]`.

    `screen` uses these probabilities to find literals that the card lacks.
    """
    cells = Cells.by(found, card.literals, sentences)
    return np.asarray(expit(card.scores(cells.has))[cells.of], np.float64)


class Training:
    """The training half of a set of winners and of the sentences it is compared with.

    Args:
        having: which of the n training sentences have each of L literals.
        with_winners, with_any: number of winners, and of sentences of both kinds, that have each literal, `[L]`.
        winner: 1 for a winner, `[n]`.
        document: code of each sentence's document, `[n]`.
        each: number of corpus sentences that one sentence outside the winners represents.
        nuisance, plainness: whether each literal is nuisance, and its plainness, `[L]`.
        nothing: whether there is nothing to learn, because there are too many winners.
    """

    def __init__(
        self,
        having: Having,
        with_winners: Int64s,
        with_any: Int64s,
        winner: UInt8s,
        document: Int64s,
        each: float,
        nuisance: Bools,
        plainness: Int64s,
        nothing: bool = False,
    ) -> None:
        self._having, self._winner, self._document, self._each = having, winner, document, each
        self._winners = int(np.count_nonzero(winner))
        self._nothing = nothing or self._winners in (0, len(winner))
        self._with_winners, self._with_any = with_winners, with_any
        self._nuisance, self._plainness = nuisance, plainness

    @classmethod
    def of(cls, found: Occurrences, labelled: Labelled, nuisance: Bools, plainness: Int64s) -> Self:
        """Return the training half of labelled sentences, with the sentences renumbered from 0."""
        rows = np.flatnonzero(~labelled.held_out)
        number = np.full(len(labelled.winner), -1, np.int32)
        number[rows] = np.arange(len(rows), dtype=np.int32)
        pool, winner = of_sentences(found, number), labelled.winner[rows].astype(np.uint8)
        return cls(
            Having.of(pool, np.arange(len(nuisance)), NO_LITERALS, None, len(rows)),
            sums_by_literal(pool, winner).astype(np.int64),
            pool.support(),
            winner,
            labelled.document[rows],
            labelled.baseline_weight,
            nuisance,
            plainness,
            labelled.too_many,
        )

    def learn(self, cost: Float64s, most: int = 6, most_nuisance: int = 3) -> tuple[ScoreCard, ScoreCard]:
        """Return the card of nuisance literals alone, and the card that adds the other literals to it (see `learn`)."""
        if self._nothing:
            return NOTHING, NOTHING
        half = self._half(cost)
        nuisance = int(np.count_nonzero(self._nuisance))
        base, whole, copies, ends = choose(self._having, half, nuisance, most_nuisance, most)
        single = _best_single(half.order, half.with_winners, half.standing, float(half.winners), half.total)
        also = [copies[a:b] for a, b in pairwise(ends.tolist())]
        card = self._card(whole, also, single)
        if len(base.chosen) == len(whole.chosen):
            return card, card
        return self._card(base, also[: len(base.chosen)], single), card

    def _half(self, cost: Float64s) -> Half:
        # The number of winners with each literal, and the number of other sentences with it.
        with_winners, rest = self._with_winners.astype(np.float64), self._with_any - self._with_winners
        order = np.lexsort((self._plainness, ~self._nuisance))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        total = self._winners + (len(self._winner) - self._winners) * self._each
        return Half(
            self._winner, self._document, self._each, self._winners, total, with_winners, self._with_any,
            with_winners + rest * self._each, order, rank, cost,
        )  # fmt: skip

    def _card(self, made: Made, also: list[Int64s], single: tuple[int, bool]) -> ScoreCard:
        fit = rounded(Fit(float(made.beta[0]), made.beta[1:], made.value))
        return ScoreCard(
            literals=made.chosen,
            weights=fit.weights,
            intercept=fit.intercept,
            threshold=_best_threshold(fit, made.has, made.winners, made.rest * self._each),
            also=also,
            single=single[0],
            single_negated=single[1],
        )


def rounded(fit: Fit) -> Fit:
    """Return the fit with its numbers rounded as score cards store them."""
    return Fit(round(fit.intercept, DECIMALS), np.round(fit.weights, DECIMALS), fit.log_likelihood)


def _best_threshold(fit: Fit, has: Bools, winners: Float64s, rest: Float64s) -> float:
    """Return the threshold with the highest F1, the highest of ties. It is midway between two scores."""
    threshold = _between(np.round(fit.scores(has), DECIMALS), winners, rest)
    if math.isfinite(threshold):
        return threshold
    # Every sentence is called a winner, whatever literals it has.
    return fit.intercept + float(np.minimum(fit.weights, 0).sum()) - 1


@compiled
def _between(scores: Float64s, winners: Float64s, rest: Float64s) -> float:
    """Return the threshold between two scores with the highest F1; minus infinity if all are called winners."""
    order = np.argsort(-scores, kind="mergesort")
    best, threshold, hits, called, wanted = -1.0, -np.inf, 0.0, 0.0, winners.sum()
    for place in range(order.size):
        cell = order[place]
        hits += winners[cell]
        called += winners[cell] + rest[cell]
        last = place + 1 == order.size
        if not last and scores[order[place + 1]] == scores[cell]:
            continue
        f1 = 2 * hits / (wanted + called)
        if f1 > best:
            best, threshold = f1, -np.inf if last else (scores[cell] + scores[order[place + 1]]) / 2
    return threshold


@compiled
def _best_single(
    order: Int64s, with_winners: Float64s, with_: Float64s, winners: float, total: float
) -> tuple[int, bool]:
    """Return the literal with the highest F1 by itself, or -1, and whether its absence is what predicts winners."""
    best, single, negated = -1.0, -1, False
    for absent in (False, True):
        for literal in order:
            if 0 < with_[literal] < total:
                hits = winners - with_winners[literal] if absent else with_winners[literal]
                called = total - with_[literal] if absent else with_[literal]
                f1 = 2 * hits / (called + winners)
                if f1 > best:
                    best, single, negated = f1, literal, absent
    return single, negated
