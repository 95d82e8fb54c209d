"""Sentences told apart by a few literals: those alike in all of them share a cell, and what is fitted is small."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit

from ops.arrays import Bools, Float64s, Int32s, Int64s, UInt8s
from ops.explain.card_choice import cells_by, counts, fit
from ops.patterns.occurrences import Occurrences


@dataclass(frozen=True)
class Cells:
    """The cell of each sentence, `of int32 [n]`, and which literals each cell has, `has bool [cells, m]`."""

    of: Int32s
    has: Bools

    @classmethod
    def by(cls, found: Occurrences, literals: Int64s, sentences: int) -> Self:
        """Return the cells of so many sentences by these literals, places among those found, in their order."""
        return cls(*cells_by(found.sentences, found.offsets, np.asarray(literals, np.int64), sentences))

    def counts(self, kind: UInt8s, kinds: int) -> Int64s:
        """Return how many sentences of each kind `[n]`, from 0, are in each cell, `[cells, kinds]`."""
        return counts(self.of, kind, len(self.has), kinds)


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
    beta, value = fit(has, winners, rest, half, first)
    return Fit(float(beta[0]), beta[1:], value)
