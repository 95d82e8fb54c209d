"""What makes a sentence a winner: a score card of few literals, learnt from the training half of the documents."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import expit

from ops.arrays import Bools, Float64s, Int32s, Int64s, UInt8s
from ops.compiled import compiled
from ops.explain.cells import Cells, Fit, fit_cells, fit_one_more
from ops.explain.near_copies import near_copies
from ops.explain.screening import likelihood_gain, sums_by_literal
from ops.explain.some_occurrences import of_literals, of_sentences
from ops.patterns.occurrences import Occurrences

DECIMALS = 6  # of weights, so that scores are the same wherever and in whatever order they are added up
_TRIED = 4  # literals that are fitted at a time
_NEARLY = 1e-6  # nats, more than rounding makes of a gain
_CHECKED = 12  # literals without enough evidence, after which the choice ends


@dataclass(frozen=True)
class Labelled:
    """Sentences, some of which are winners.

    Attributes:
        winner: `[n]` bool.
        weight: sentences of the corpus that each stands for, `[n]`: a winner 1, all others alike.
        document: code of the document of each, from 0, `[n]`.
        held_out: whether that document is in the test half, `[n]` bool.
    """

    winner: Bools
    weight: Float64s
    document: Int64s
    held_out: Bools

    @cached_property
    def sides(self) -> UInt8s:
        """Return 0 to 3 for each sentence, `[n]`: twice whether it is held out, and one more for a winner."""
        return 2 * self.held_out.astype(np.uint8) + self.winner

    @cached_property
    def too_many(self) -> bool:
        """Return whether winners are more than half of the corpus, so that nothing is learnt or scored."""
        winners = int(np.count_nonzero(self.winner))
        return winners > (len(self.winner) - winners) * self.baseline_weight

    @cached_property
    def baseline_weight(self) -> float:
        """Return for how many sentences of the corpus one outside the winners stands; 1 where there is none."""
        first = int(np.argmin(self.winner)) if len(self.winner) else 0
        return float(self.weight[first]) if first < len(self.winner) and not self.winner[first] else 1.0


@dataclass(frozen=True)
class ScoreCard:
    """A few literals with weights; a sentence's score is the intercept and the weights of those it has.

    Attributes:
        literals: places among the literals given, `[m]`: nuisance first, then language, each in the order of choice.
        weights: log-odds, `[m]`, rounded to 6 decimals; a negative one speaks against a winner.
        intercept: log-odds of a sentence with none of the literals, rounded alike.
        threshold: a sentence with a score of at least this is called a winner.
        also: the near-copies of each literal, as places, ascending.
        single: place of the best single literal by its F1 on the training half; -1 where there is none.
        single_negated: whether it is a sentence without that literal which is called a winner.
    """

    literals: Int64s
    weights: Float64s
    intercept: float
    threshold: float
    also: list[Int64s]
    single: int
    single_negated: bool

    def scores(self, has: Bools) -> Float64s:
        """Return the score of sentences that have these of the card's literals, `has [k, m]`, rounded."""
        return np.round(self.intercept + has @ self.weights, DECIMALS)

    def renumbered(self, number: Int64s) -> Self:
        """Return the card with other numbers for the places of its literals, `[L]`."""
        return replace(
            self,
            literals=number[self.literals],
            also=[number[places] for places in self.also],
            single=int(number[self.single]) if self.single >= 0 else -1,
        )


# Of a training half from which nothing can be learnt: every sentence is called a winner.
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
    each set of them is one literal, shown by its plainest, and a copy of a nuisance literal is nuisance. Literals are
    then added one at a time, each time the one whose gain in penalised log-likelihood exceeds its cost most: first
    nuisance literals, then the others on top.

    Both of these have to exceed the cost: the gain at the corpus's rate, and the evidence, which is the gain where each
    sentence at hand counts once, divided by its design effect. That effect is how many times as much the gain's slope
    varies by document as by sentence: what is found in one document only is found once.

    The threshold is the one with the highest F1 at the corpus's rate. Where winners are more than half of the corpus,
    or the training half has no winner or nothing else, the card has no literal and calls every sentence a winner.

    Args:
        found: the sentences that have each of L literals.
        labelled: the sentences.
        nuisance: which literals are nuisance, `[L]`.
        plainness: of each literal, `[L]`; the smallest is the plainest.
        cost: of each literal, in nats, `[L]` (see `literal_costs`).
        most, most_nuisance: literals of the card that are not nuisance, and that are.
    """
    return Training.of(found, labelled, nuisance, plainness).learn(cost, most, most_nuisance)[1]


def learn_nuisance(
    found: Occurrences, labelled: Labelled, nuisance: Bools, plainness: Int64s, cost: Float64s, most_nuisance: int = 3
) -> ScoreCard:
    """Return the score card of nuisance literals alone, learnt as `learn` does.

    Its arguments are those of `learn`. Literals that are not nuisance are not looked at.
    """
    places = np.flatnonzero(nuisance)
    training = Training.of(of_literals(found, places), labelled, nuisance[places], plainness[places])
    return training.learn(cost[places], 0, most_nuisance)[0].renumbered(places)


def chances(card: ScoreCard, found: Occurrences, sentences: int) -> Float64s:
    """Return by the card each sentence's chance to be a winner, `[n]`: what `screen` takes to find what it lacks."""
    cells = Cells.by(found, card.literals, sentences)
    return np.asarray(expit(card.scores(cells.has))[cells.of], np.float64)


@dataclass(frozen=True)
class _Model:
    """A card that is being made.

    Attributes:
        chosen: its literals.
        cells: of the training sentences by these.
        rest, winners: sentences of each cell that are no winners, and that are.
        fit: at the corpus's own rate.
    """

    chosen: list[int]
    cells: Cells
    rest: Float64s
    winners: Float64s
    fit: Fit

    @cached_property
    def plain(self) -> Float64s:
        """The chance of each cell by a fit in which each sentence at hand counts once."""
        return fit_cells(self.cells.has, self.winners, self.rest, 0.5).chances(self.cells.has)


class Training:
    """The training half of a set of winners and what it is set against.

    Args:
        find: returns which of the n training sentences have each of L literals; asked where counts do not settle it.
        with_winners, with_any: winners, and sentences of both kinds, that have each literal, `[L]`.
        winner: 1 for a winner, `[n]`.
        document: code of the document of each, `[n]`.
        each: sentences of the corpus that one outside the winners stands for.
        nuisance, plainness: of each literal, `[L]`.
        nothing: whether nothing is to be learnt, since winners are too many.
    """

    def __init__(
        self,
        find: Callable[[], Occurrences],
        with_winners: Int64s,
        with_any: Int64s,
        winner: UInt8s,
        document: Int64s,
        each: float,
        nuisance: Bools,
        plainness: Int64s,
        nothing: bool = False,
    ) -> None:
        self._winner, self._document, self._each = winner, document, each
        self._winners = int(np.count_nonzero(winner))
        self.nothing = nothing or self._winners in (0, len(winner))
        self._find, self._nuisance = find, nuisance
        self._total = self._winners + (len(winner) - self._winners) * each
        # Each literal's winners, and the sentences of the corpus that those with it stand for.
        self._with_winners = with_winners.astype(np.float64)
        self._with = self._with_winners + (with_any - with_winners) * each
        self._order = np.lexsort((plainness, ~nuisance))

    @classmethod
    def of(cls, found: Occurrences, labelled: Labelled, nuisance: Bools, plainness: Int64s) -> Self:
        """Return the training half of labelled sentences, which are numbered anew."""
        rows = np.flatnonzero(~labelled.held_out)
        number = np.full(len(labelled.winner), -1, np.int32)
        number[rows] = np.arange(len(rows), dtype=np.int32)
        own, winner = of_sentences(found, number), labelled.winner[rows].astype(np.uint8)
        return cls(
            lambda: own,
            sums_by_literal(own, winner).astype(np.int64),
            own.support(),
            winner,
            labelled.document[rows],
            labelled.baseline_weight,
            nuisance,
            plainness,
            labelled.too_many,
        )

    def learn(self, cost: Float64s, most: int = 6, most_nuisance: int = 3) -> tuple[ScoreCard, ScoreCard]:
        """Return the card of nuisance literals alone, and that with the others on top (see `learn`)."""
        if self.nothing:
            return NOTHING, NOTHING
        first = int(np.count_nonzero(self._nuisance))
        base = self._extended(self._model([]), self._order[:first], cost, most_nuisance)
        whole = self._extended(base, self._order[first:], cost, most)
        card = self._card(whole)
        return card if base is whole else self._card(base), card

    @cached_property
    def _found(self) -> Occurrences:
        return self._find()

    @cached_property
    def _shown(self) -> Int64s:
        return near_copies(self._found, len(self._winner), self._order)

    @cached_property
    def _documents(self) -> int:
        return distinct(self._document)

    def _model(self, chosen: list[int]) -> _Model:
        cells = Cells.one(len(self._winner))
        if chosen:
            cells = Cells.by(self._found, np.array(chosen, np.int64), len(self._winner))
        rest, winners = cells.counts(self._winner, 2).T.astype(np.float64)
        return _Model(chosen, cells, rest, winners, fit_cells(cells.has, winners, rest * self._each, self._each / 2))

    def _extended(self, model: _Model, pool: Int64s, cost: Float64s, most: int) -> _Model:
        """Return a model with at most so many more literals of a pool, each worth its cost."""
        left, all_shown = pool[self._with[pool] > 0], False
        for _ in range(most):
            gains, expected = self._approximate(model, left)
            # In one cell the approximate gain is that of a fit without a prior: the exact one does not exceed it.
            if not gains.size or (len(model.cells.has) == 1 and (gains - cost[left]).max() + _NEARLY <= 0):
                break
            if not all_shown:
                shown = self._shown[left] == left
                left, gains, expected, all_shown = left[shown], gains[shown], expected[shown], True
            best = self._best(model, left, gains, expected, cost[left])
            if best is None:
                break
            model = self._model([*model.chosen, best])
            left = left[left != best]
        return model

    def _card(self, model: _Model) -> ScoreCard:
        fit = rounded(model.fit)
        copied = [np.flatnonzero(self._shown == i) for i in model.chosen]
        single, negated = _best_single(self._order, self._with_winners, self._with, self._winners, self._total)
        return ScoreCard(
            literals=np.array(model.chosen, np.int64),
            weights=fit.weights,
            intercept=fit.intercept,
            threshold=_best_threshold(fit, model.cells.has, model.winners, model.rest * self._each),
            also=[places[places != i] for i, places in zip(model.chosen, copied, strict=True)],
            single=single,
            single_negated=negated,
        )

    def _best(self, model: _Model, left: Int64s, gains: Float64s, expected: Float64s, cost: Float64s) -> int | None:
        """Return the literal whose gain exceeds its cost most."""
        # What the other weights gain when they are fitted again is not in an approximate gain.
        order = np.argsort(cost - gains, kind="stable")
        order = order[gains[order] > cost[order] / 2][:_CHECKED]
        for first in range(0, len(order), _TRIED):
            tried = order[first : first + _TRIED]
            one = len(model.cells.has) == 1
            most_left = {int(i): float(gains[i] - cost[i]) + _NEARLY if one else math.inf for i in tried}
            exact: set[int] = set()
            while most_left:
                place = max(most_left, key=most_left.__getitem__)
                literal = int(left[place])
                if most_left[place] <= 0:
                    break
                if place not in exact:
                    most_left[place] = self._gain(model, literal, float(expected[place])) - float(cost[place])
                    exact.add(place)
                elif self._evidence(model, literal) > cost[place]:
                    return literal
                else:
                    del most_left[place]
        return None

    def _approximate(self, model: _Model, left: Int64s) -> tuple[Float64s, Float64s]:
        """Return about how much each literal gains, and how many winners with it the model expects, `[left]`."""
        chances, a, n = model.fit.chances(model.cells.has), self._with_winners[left], self._with[left]
        if len(chances) == 1:
            e, all_expected = n * chances[0], self._total * chances[0]
        else:
            # Rounded to 32 bits before any sum, so that what lies outside a literal is not lost to rounding.
            weight = np.where(self._winner, 1.0, self._each)
            expected = (weight * chances[model.cells.of]).astype(np.float32)
            e, all_expected = sums_by_literal(self._found, expected, left), float(expected.sum(dtype=np.float64))
        return likelihood_gain(a, e, n, self._winners, all_expected, self._total, self._each / 2), e

    def _gain(self, model: _Model, literal: int, expected: float) -> float:
        """Return by how much the penalised log-likelihood of the whole card rises with one more literal, in nats."""
        a, n = float(self._with_winners[literal]), float(self._with[literal])
        odds = expected / (n - expected) if 0 < expected < n else 1.0
        weight = math.log((a + 0.5) / (n - a + self._each / 2) / odds)
        start = np.array([model.fit.intercept, *model.fit.weights, weight])
        own = self._sentences(literal)
        more = fit_one_more(model.cells, model.winners, model.rest, own, self._winner, self._each, start)
        return more.log_likelihood - model.fit.log_likelihood

    def _evidence(self, model: _Model, literal: int) -> float:
        """Return a literal's gain where each sentence at hand counts once, over its design effect, in nats."""
        own, cells, chances = self._sentences(literal), model.cells, model.plain
        expected = chances @ np.bincount(cells.of[own], minlength=len(chances))
        gain = likelihood_gain(
            [self._with_winners[literal]],
            [expected],
            [len(own)],
            self._winners,
            float(chances @ (model.winners + model.rest)),
            len(self._winner),
            0.5,
        )
        effect = _design_effect(own, cells.of, self._winner, chances, self._document, self._documents)
        return float(gain[0]) / effect

    def _sentences(self, literal: int) -> Int32s:
        return self._found.sentences[self._found.offsets[literal] : self._found.offsets[literal + 1]]


def distinct(codes: Int64s) -> int:
    """Return how many distinct codes there are, counted from 0."""
    return int(np.count_nonzero(np.bincount(codes)))


def rounded(fit: Fit) -> Fit:
    """Return the fit as score cards keep it, with rounded numbers."""
    return Fit(round(fit.intercept, DECIMALS), np.round(fit.weights, DECIMALS), fit.log_likelihood)


def _best_threshold(fit: Fit, has: Bools, winners: Float64s, rest: Float64s) -> float:
    """Return the threshold with the highest F1; of equal ones the highest. It lies between two scores."""
    threshold = _between(np.round(fit.scores(has), DECIMALS), winners, rest)
    if math.isfinite(threshold):
        return threshold
    # Every sentence is called a winner, whatever literals it has.
    return fit.intercept + float(np.minimum(fit.weights, 0).sum()) - 1


@compiled
def _between(scores: Float64s, winners: Float64s, rest: Float64s) -> float:
    """Return the threshold with the highest F1 that lies between two scores; minus infinity where all are called."""
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
    """Return the literal with the highest F1 by itself, or -1, and whether it is its absence that has it."""
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


@compiled
def _design_effect(
    own: Int32s, of: Int32s, winner: UInt8s, chances: Float64s, document: Int64s, documents: int
) -> float:
    """Return how many times as much a literal's slope varies by document as by sentence, at least 1.

    The slope adds up (y - p) (x - m) over sentences: y and x are whether the sentence is a winner and has the literal,
    p and m the chances of these in its cell.
    """
    has, n, having = np.zeros(of.size, np.uint8), np.zeros(chances.size), np.zeros(chances.size)
    for sentence in own:
        has[sentence] = 1
        having[of[sentence]] += 1
    for cell in of:
        n[cell] += 1
    having /= n
    parts = np.empty((chances.size, 4))
    for cell in range(chances.size):
        for kind in range(4):
            parts[cell, kind] = ((kind & 1) - chances[cell]) * ((kind >> 1) - having[cell])
    sums, squares = np.zeros(document.max() + 1), 0.0
    for sentence in range(of.size):
        part = parts[of[sentence], winner[sentence] + 2 * has[sentence]]
        squares += part * part
        sums[document[sentence]] += part
    if documents < 2 or squares == 0:
        return np.inf
    return float(max(1.0, (sums * sums).sum() / squares * documents / (documents - 1)))
