"""What makes a sentence a winner: a score card of few literals, learnt from the training half of the documents."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from ops.arrays import Bools, Float64s, Int32s, Int64s, UInt8s
from ops.compiled import compiled
from ops.explain.cells import Cells, Fit, fit_cells
from ops.explain.near_copies import near_copies
from ops.explain.screening import likelihood_gain, sums_by_literal
from ops.patterns.occurrences import Occurrences

DECIMALS = 6  # of weights, so that scores are the same wherever and in whatever order they are added up
_TRIED = 4  # literals that are fitted at a time
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
        rest = np.flatnonzero(~self.winner)
        return float(self.weight[rest[0]]) if len(rest) else 1.0


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


def learn(
    found: Occurrences,
    labelled: Labelled,
    nuisance: Bools,
    plainness: Int64s,
    candidates: int,
    most: int = 6,
    most_nuisance: int = 3,
    base: ScoreCard | None = None,
) -> ScoreCard:
    """Return the score card of a set of winners, learnt from the training half alone.

    The card is a logistic regression at the corpus's own rate of winners (`fit_cells`). Near-copies are merged first:
    each set of them is one literal, shown by its plainest, and a copy of a nuisance literal is nuisance. Literals are
    then added one at a time, each time the one with the largest gain in penalised log-likelihood: first nuisance
    literals, then the others on top.

    A literal has to be worth its cost, log(candidates) + log(training winners) / 2 nats. Both of these have to exceed
    it: its gain at the corpus's rate, and the evidence, which is its gain where each sentence at hand counts once,
    divided by its design effect. That effect is how many times as much the gain's slope varies by document as by
    sentence: what is found in one document only is found once.

    The threshold is the one with the highest F1 at the corpus's rate. Where winners are more than half of the corpus,
    or the training half has no winner or nothing else, the card has no literal and calls every sentence a winner.

    Args:
        found: the sentences that have each of L literals.
        labelled: the sentences.
        nuisance: which literals are nuisance, `[L]`.
        plainness: of each literal, `[L]`; the smallest is the plainest.
        candidates: literals other than nuisance from which those given were drawn; at least 1.
        most, most_nuisance: literals of the card that are not nuisance, and that are.
        base: what `learn_nuisance` found, so that it is not found again.
    """
    training = _Training(found, labelled, np.arange(len(nuisance)), nuisance, plainness)
    if training.nothing:
        return training.card([])
    if base is None:
        chosen = training.extend([], training.nuisance, int(nuisance.sum()), most_nuisance)
    else:
        chosen = base.literals.tolist()
    return training.card(training.extend(chosen, ~training.nuisance, candidates, most))


def learn_nuisance(
    found: Occurrences, labelled: Labelled, nuisance: Bools, plainness: Int64s, most_nuisance: int = 3
) -> ScoreCard:
    """Return the score card of nuisance literals alone, learnt as `learn` does.

    Its arguments are those of `learn`. Literals that copy nuisance are not looked at.
    """
    places = np.flatnonzero(nuisance)
    training = _Training(found, labelled, places, nuisance, plainness)
    return training.card(training.extend([], training.nuisance, len(places), most_nuisance))


def chances(card: ScoreCard, found: Occurrences, sentences: int) -> Float64s:
    """Return by the card each sentence's chance to be a winner, `[n]`: what `screen` takes to find what it lacks."""
    cells = Cells.by(found, card.literals, sentences)
    return np.asarray(expit(card.scores(cells.has))[cells.of], np.float64)


class _Training:
    """The training half of labelled sentences, which are numbered anew, and the literals among `places` in it."""

    def __init__(
        self, found: Occurrences, labelled: Labelled, places: Int64s, nuisance: Bools, plainness: Int64s
    ) -> None:
        self._places = places
        rows = np.flatnonzero(~labelled.held_out)
        self._winner, self._document = labelled.winner[rows].astype(np.uint8), labelled.document[rows]
        self._weight = labelled.weight[rows]
        self._documents = distinct(self._document)
        self._winners = int(np.count_nonzero(self._winner))
        self.nothing = labelled.too_many or self._winners in (0, len(rows))
        self.nuisance = nuisance[places]
        if self.nothing:
            return
        self._each = labelled.baseline_weight
        self._total = self._winners + (len(rows) - self._winners) * self._each
        number = np.full(len(labelled.winner), -1, np.int32)
        number[rows] = np.arange(len(rows), dtype=np.int32)
        self._found = Occurrences(*_within(found.sentences, found.offsets, places, number))
        # Each literal's winners, and the sentences of the corpus that those with it stand for.
        self._with_winners = sums_by_literal(self._found, self._winner)
        self._with = self._with_winners + (np.diff(self._found.offsets) - self._with_winners) * self._each
        self._order = np.lexsort((plainness[places], ~self.nuisance))
        self._shown = near_copies(self._found, len(rows), self._order)

    def extend(self, chosen: list[int], pool: Bools, candidates: int, most: int) -> list[int]:
        """Return the chosen literals, and after them at most so many of a pool `[L]` that are worth their cost."""
        if self.nothing:
            return []
        cost = math.log(max(candidates, 1)) + math.log(self._winners) / 2
        chosen, cells = list(chosen), Cells.by(self._found, np.array(chosen, np.int64), len(self._winner))
        left = self._order[(pool & (self._shown == np.arange(len(pool))) & (self._with > 0))[self._order]]
        left = left[~np.isin(left, chosen)]
        for _ in range(most):
            best = self._best(cells, left, cost)
            if best is None:
                break
            chosen.append(best)
            left = left[left != best]
            cells = cells.split(self._found, best)
        return chosen

    def card(self, chosen: list[int]) -> ScoreCard:
        """Return the card of the chosen literals."""
        none = np.zeros(0)
        if self.nothing:
            return ScoreCard(none.astype(np.int64), none, 0.0, -1.0, [], -1, False)
        cells = Cells.by(self._found, np.array(chosen, np.int64), len(self._winner))
        rest, winners = cells.counts(self._winner, 2).T.astype(np.float64)
        rest *= self._each
        fit = rounded(fit_cells(cells.has, winners, rest, self._each / 2))
        single, negated = self._best_single()
        return ScoreCard(
            literals=self._places[np.array(chosen, np.int64)],
            weights=fit.weights,
            intercept=fit.intercept,
            threshold=_best_threshold(fit, cells.has, winners, rest),
            also=[self._places[(self._shown == i) & (np.arange(len(self._shown)) != i)] for i in chosen],
            single=int(self._places[single]) if single >= 0 else -1,
            single_negated=negated,
        )

    def _best(self, cells: Cells, left: Int64s, cost: float) -> int | None:
        """Return the literal with the largest gain of those that are worth the cost."""
        rest, winners = cells.counts(self._winner, 2).T.astype(np.float64)
        # A sentence at hand counts once in the plain fit, and as many times as it stands for in the other.
        plain, sentences = fit_cells(cells.has, winners, rest, 0.5).chances(cells.has), winners + rest
        rest *= self._each
        fit = fit_cells(cells.has, winners, rest, self._each / 2)
        gains, starts = self._approximate(cells, fit, left)
        # What the other weights gain when they are fitted again is not in an approximate gain.
        order = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > cost / 2)][:_CHECKED]
        for first in range(0, len(order), _TRIED):
            tried = order[first : first + _TRIED]
            exact = [self._gain(cells, winners, rest, fit, int(left[i]), float(starts[i])) for i in tried]
            for place in np.argsort(-np.array(exact), kind="stable"):
                literal = int(left[tried[place]])
                if exact[place] > cost and self._evidence(cells, plain, sentences, literal) > cost:
                    return literal
        return None

    def _approximate(self, cells: Cells, fit: Fit, left: Int64s) -> tuple[Float64s, Float64s]:
        """Return about how much each literal gains, and its weight by itself on top of the card so far, `[left]`."""
        # Rounded to 32 bits before any sum, so that what lies outside a literal is not lost to rounding.
        expected = (self._weight * fit.chances(cells.has)[cells.of]).astype(np.float32)
        a, n, e = self._with_winners[left], self._with[left], sums_by_literal(self._found, expected, left)
        all_expected = float(expected.sum(dtype=np.float64))
        gains = likelihood_gain(a, e, n, self._winners, all_expected, self._total, self._each / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            start = np.log((a + 0.5) / (n - a + self._each / 2)) - np.log(e / (n - e))
        return gains, np.where(n > 0, start, 0.0)

    def _gain(self, cells: Cells, winners: Float64s, rest: Float64s, fit: Fit, literal: int, start: float) -> float:
        """Return by how much the penalised log-likelihood of the whole card rises with one more literal, in nats."""
        own = self._sentences(literal)
        with_rest, with_winners = Cells(cells.of[own], cells.has).counts(self._winner[own], 2).T.astype(np.float64)
        with_rest *= self._each
        there = np.concatenate([winners + rest > with_winners + with_rest, with_winners + with_rest > 0])
        has = np.column_stack([np.concatenate([cells.has] * 2), np.arange(2 * len(cells.has)) >= len(cells.has)])
        more = fit_cells(
            has[there],
            np.concatenate([winners - with_winners, with_winners])[there],
            np.concatenate([rest - with_rest, with_rest])[there],
            self._each / 2,
            np.array([fit.intercept, *fit.weights, start]),
        )
        return more.log_likelihood - fit.log_likelihood

    def _evidence(self, cells: Cells, chances: Float64s, sentences: Float64s, literal: int) -> float:
        """Return a literal's gain where each sentence at hand counts once, over its design effect, in nats."""
        own = self._sentences(literal)
        expected = chances @ np.bincount(cells.of[own], minlength=len(chances))
        gain = likelihood_gain(
            [self._with_winners[literal]],
            [expected],
            [len(own)],
            self._winners,
            float(chances @ sentences),
            len(self._winner),
            0.5,
        )
        effect = _design_effect(own, cells.of, self._winner, chances, self._document, self._documents)
        return float(gain[0]) / effect

    def _best_single(self) -> tuple[int, bool]:
        """Return the literal with the highest F1 by itself, or -1, and whether it is its absence that has it."""
        winners, total = float(self._winners), self._total
        order = self._order[(self._with[self._order] > 0) & (self._with[self._order] < total)]
        if not len(order):
            return -1, False
        called = np.stack([self._with[order], total - self._with[order]])
        hits = np.stack([self._with_winners[order], winners - self._with_winners[order]])
        f1 = 2 * hits / (called + winners)
        place = int(f1.argmax())
        return int(order[place % len(order)]), place >= len(order)

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
    scores, level = np.unique(-np.round(fit.scores(has), DECIMALS), return_inverse=True)
    hits, called = (np.cumsum(np.bincount(level, of)) for of in (winners, winners + rest))
    best = int(np.argmax(2 * hits / (winners.sum() + called)))
    if best + 1 < len(scores):
        return float(-(scores[best] + scores[best + 1]) / 2)
    # Every sentence is called a winner, whatever literals it has.
    return fit.intercept + float(np.minimum(fit.weights, 0).sum()) - 1


@compiled
def _within(sentences: Int32s, offsets: Int64s, places: Int64s, number: Int32s) -> tuple[Int32s, Int64s]:
    """Return the pairs of some literals whose sentence has a number, with that number."""
    size = 0
    for place in places:
        size += offsets[place + 1] - offsets[place]
    kept, starts, at = np.empty(size + 1, np.int32), np.zeros(places.size + 1, np.int64), 0
    for i in range(places.size):
        for pair in range(offsets[places[i]], offsets[places[i] + 1]):
            # A number without a sign spares the question whether it counts from the end.
            own = number[np.uint32(sentences[pair])]
            kept[np.uint64(at)] = own
            at += 1 if own >= 0 else 0
        starts[i + 1] = at
    return kept[:at], starts


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
