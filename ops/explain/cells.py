"""Sentences told apart by a few literals: those alike in all of them share a cell, and what is fitted is small."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit

from ops.arrays import Bools, Float64s, Int32s, Int64s, UInt8s
from ops.compiled import compiled
from ops.patterns.occurrences import Occurrences

_DEVIATION = 5.0  # of the Gaussian prior of a weight, in log-odds
_STEPS = 100
_AT_ONCE = 8  # literals, so that no more than 256 cells are made of one


@dataclass(frozen=True)
class Cells:
    """The cell of each sentence, `of int32 [n]`, and which literals each cell has, `has bool [cells, m]`."""

    of: Int32s
    has: Bools

    @classmethod
    def one(cls, sentences: int) -> Self:
        """Return the one cell of sentences that no literal tells apart."""
        return cls(np.zeros(sentences, np.int32), np.zeros((min(sentences, 1), 0), np.bool_))

    @classmethod
    def by(cls, found: Occurrences, literals: Int64s, sentences: int) -> Self:
        """Return the cells of so many sentences by these literals, places among those found, in their order."""
        cells = cls.one(sentences)
        for first in range(0, len(literals), _AT_ONCE):
            cells = cells._split(found, literals[first : first + _AT_ONCE])
        return cells

    def split(self, found: Occurrences, literal: int) -> Self:
        """Return the cells by one more literal."""
        return self._split(found, np.array([literal]))

    def _split(self, found: Occurrences, literals: Int64s) -> Self:
        of, used = _split(self.of, found.sentences, found.offsets, literals.astype(np.int64), len(self.has))
        more = (used[:, None] >> np.arange(len(literals))) % 2 == 1
        return type(self)(of, np.column_stack([self.has[used >> len(literals)], more]))

    def counts(self, kind: UInt8s, kinds: int) -> Int64s:
        """Return how many sentences of each kind `[n]`, from 0, are in each cell, `[cells, kinds]`."""
        return _counts(self.of, kind, len(self.has), kinds)


@dataclass(frozen=True)
class Fit:
    """A logistic regression: `intercept`, `weights [m]`, and its `log_likelihood` with the penalty, in nats."""

    intercept: float
    weights: Float64s
    log_likelihood: float

    def scores(self, has: Bools) -> Float64s:
        """Return the log-odds of sentences that have these of the m literals, `[cells]`."""
        return self.intercept + has @ self.weights

    def chances(self, has: Bools) -> Float64s:
        """Return their chance to be winners, `[cells]`."""
        return np.asarray(expit(self.scores(has)), np.float64)


def fit_cells(has: Bools, winners: Float64s, rest: Float64s, half: float, start: Float64s | None = None) -> Fit:
    """Fit the chance of a winner by m literals: a logistic regression, by Newton's method.

    The log-likelihood of the sentences is penalised twice. Weights have a Gaussian prior with a standard deviation of 5
    around 0; it keeps them finite where no winner has a literal. Each literal also gets half a baseline sentence which
    has that literal alone, so that one which no sentence of the baseline happens to have is not taken to be without
    fault. The intercept is free.

    Args:
        has: which literals each cell has, `[cells, m]`.
        winners, rest: weight of the winners and of the other sentences in each cell, `[cells]`; neither all 0.
        half: half the weight of a baseline sentence.
        start: intercept and weights from which to start, `[1 + m]`.
    """
    first = np.zeros(0) if start is None else start
    beta, value = _fit(has, winners, rest, half, first)
    return Fit(float(beta[0]), beta[1:], value)


def fit_one_more(
    cells: Cells, winners: Float64s, rest: Float64s, own: Int32s, winner: UInt8s, each: float, start: Float64s
) -> Fit:
    """Fit one more literal to cells that it cuts in two, as `fit_cells` does; its weight is the last.

    Args:
        cells: by the other literals.
        winners, rest: of each cell the winners and the other sentences, which stand for `each` sentences.
        own: the sentences that have the literal.
        winner: which of all sentences are winners, `[n]`.
        each: for how many sentences of the corpus one outside the winners stands.
        start: intercept and weights from which to start, `[2 + m]`.
    """
    beta, value = _fit_one_more(cells.of, cells.has, winners, rest, own, winner, each, start)
    return Fit(float(beta[0]), beta[1:], value)


@compiled
def _split(of: Int32s, sentences: Int32s, offsets: Int64s, literals: Int64s, cells: int) -> tuple[Int32s, Int64s]:
    """Return each sentence's new cell, and for each of these the old one, followed by a bit for each literal."""
    new = of << literals.size
    for i in range(literals.size):
        for pair in range(offsets[literals[i]], offsets[literals[i] + 1]):
            new[np.uint32(sentences[pair])] |= 1 << i
    seen = np.zeros(cells << literals.size, np.int32)
    for cell in new:
        seen[np.uint32(cell)] = 1
    used = np.flatnonzero(seen)
    for number in range(used.size):
        seen[used[number]] = number
    for sentence in range(new.size):
        new[sentence] = seen[np.uint32(new[sentence])]
    return new, used


@compiled
def _counts(of: Int32s, kind: UInt8s, cells: int, kinds: int) -> Int64s:
    counts = np.zeros((cells, kinds), np.int64)
    for sentence in range(of.size):
        counts[np.uint32(of[sentence]), kind[sentence]] += 1
    return counts


@compiled
def _value(score: Float64s, positive: Float64s, negative: Float64s, beta: Float64s, ridge: float) -> float:
    value = 0.0
    for cell in range(score.size):
        s = score[cell]
        tail = np.log1p(np.exp(-abs(s)))
        value -= positive[cell] * (tail + max(-s, 0.0)) + negative[cell] * (tail + max(s, 0.0))
    for weight in beta[1:]:
        value -= ridge / 2 * weight**2
    return value


@compiled
def _newton(
    design: Float64s, positive: Float64s, negative: Float64s, start: Float64s, ridge: float, steps: int
) -> tuple[Float64s, float]:
    size = start.size
    beta = start.copy()
    score = design @ beta
    value = _value(score, positive, negative, beta, ridge)
    for _ in range(steps):
        gradient, curvature = np.zeros(size), np.zeros((size, size))
        for cell in range(score.size):
            total = positive[cell] + negative[cell]
            chance = 1 / (1 + np.exp(-score[cell]))
            spread = total * chance * (1 - chance)
            # Where scores are far below 0 the difference of large numbers would lose what is left of it.
            slope = positive[cell] * (1 - chance) - negative[cell] * chance
            for i in range(size):
                if design[cell, i]:
                    gradient[i] += slope
                    for j in range(i + 1):
                        curvature[i, j] += spread * design[cell, j]
        curvature[0, 0] += 1e-9
        for i in range(size):
            if i:
                gradient[i] -= ridge * beta[i]
                curvature[i, i] += ridge
            for j in range(i):
                curvature[j, i] = curvature[i, j]
        step = np.linalg.solve(curvature, gradient)
        near = gradient @ step < 1e-8  # twice the nats to be gained: the last step squares what error there is
        scale = 1.0
        while True:
            beta_new = beta + scale * step
            score_new = design @ beta_new
            value_new = _value(score_new, positive, negative, beta_new, ridge)
            if near or value_new >= value or scale < 1e-9:
                break
            scale /= 2
        beta, score, value = beta_new, score_new, value_new
        if near:
            break
    return beta, value


@compiled
def _fit(has: Bools, winners: Float64s, rest: Float64s, half: float, start: Float64s) -> tuple[Float64s, float]:
    cells, literals = has.shape
    design, positive = np.zeros((cells + literals, 1 + literals)), np.zeros(cells + literals)
    negative = np.full(cells + literals, half)
    design[:, 0] = 1
    for cell in range(cells):
        positive[cell], negative[cell] = winners[cell], rest[cell]
        for literal in range(literals):
            design[cell, 1 + literal] = has[cell, literal]
    for literal in range(literals):
        design[cells + literal, 1 + literal] = 1
    first = start
    if not start.size:
        first = np.zeros(1 + literals)
        first[0] = np.log(winners.sum() / rest.sum())
    return _newton(design, positive, negative, first, 1 / _DEVIATION**2, _STEPS)


@compiled
def _fit_one_more(
    of: Int32s, has: Bools, winners: Float64s, rest: Float64s, own: Int32s, winner: UInt8s, each: float, start: Float64s
) -> tuple[Float64s, float]:
    cells, literals = has.shape
    more = np.zeros((2 * cells, literals + 1), np.bool_)
    counts = np.zeros((2, 2 * cells))
    for sentence in own:
        counts[winner[sentence], cells + of[sentence]] += 1
    there = 0
    for cell in range(2 * cells):
        without = cell < cells
        for kind in range(2):
            if without:
                counts[kind, cell] = (winners[cell] if kind else rest[cell]) - counts[kind, cells + cell]
        if counts[0, cell] + counts[1, cell] > 0:
            counts[:, there] = counts[:, cell]
            more[there, :literals], more[there, literals] = has[cell % cells], not without
            there += 1
    return _fit(more[:there], counts[1, :there].copy(), counts[0, :there] * each, each / 2, start)
