"""Sentences grouped into cells by a few literals, so that models are fitted to few cells and not to all sentences.

All sentences of a cell have the same subset of these literals.
"""

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
        """Assign `sentences` sentences to cells by these literals, given by index in `found`, in this order."""
        return cls(*cells_by(found.sentences, found.offsets, np.asarray(literals, np.int64), sentences))

    def counts(self, kind: UInt8s, kinds: int) -> Int64s:
        """Return how many sentences of each kind are in each cell, `[cells, kinds]`.

        `kind [n]` is the kind of each sentence, counted from 0.
        """
        return counts(self.of, kind, len(self.has), kinds)


@dataclass(frozen=True)
class Fit:
    """A logistic regression: `intercept`, `weights [m]`, and its `log_likelihood` with the penalty, in nats."""

    intercept: float
    weights: Float64s
    log_likelihood: float

    def scores(self, has: Bools) -> Float64s:
        """Return the log-odds of the cells, given which of the m literals each has, `[cells]`."""
        return self.intercept + has @ self.weights

    def chances(self, has: Bools) -> Float64s:
        """Return the probability of a winner in each cell, `[cells]`."""
        return np.asarray(expit(self.scores(has)), np.float64)


def fit_cells(has: Bools, winners: Float64s, rest: Float64s, half: float, start: Float64s | None = None) -> Fit:
    """Fit the probability of a winner given m literals, as a logistic regression with Newton's method.

    The log-likelihood of the sentences has two penalties. The weights have a Gaussian prior with mean 0 and a standard
    deviation of 5, which keeps them finite if no winner has a literal. Each literal also gets half a baseline sentence
    that has only this literal. Otherwise a literal that no baseline sentence happens to have would look infallible. The
    intercept has no prior.

    Args:
        has: which literals each cell has, `[cells, m]`.
        winners, rest: weight of the winners and of the other sentences in each cell, `[cells]`. Neither may be 0 in
            every cell.
        half: half the weight of a baseline sentence.
        start: initial intercept and weights, `[1 + m]`.
    """
    first = np.zeros(0) if start is None else start
    beta, value = fit(has, winners, rest, half, first)
    return Fit(float(beta[0]), beta[1:], value)
