"""A score card: a few literals with weights, and the score from which a sentence is called a winner."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Bools, Float64s, Int64s, UInt64s
from ops.bits import Layout
from ops.compiled import compiled
from ops.explain.choose import DECIMALS, Path


@dataclass(frozen=True)
class Card:
    """A few literals with weights. A sentence's score is the intercept plus the weights of the literals it has.

    Attributes:
        literals: indices of the literals in the order of choice, nuisance first, `[m]`.
        weights: log-odds, `[m]`, rounded to 6 decimals; a negative weight counts against a winner.
        intercept: log-odds of a sentence with none of the literals, rounded to 6 decimals.
        threshold: a sentence with a score of at least this is called a winner; infinite if there are no literals.
    """

    literals: Int64s
    weights: Float64s
    intercept: float
    threshold: float

    @classmethod
    def of(cls, path: Path | None, size: int) -> Self:
        """Return the card of a size, or the largest that there is; None gives a card without literals."""
        if path is None:
            return cls(np.zeros(0, np.int64), np.zeros(0), 0.0, np.inf)
        card_size = min(size, len(path.ends) - 1)
        literals = path.literals[: path.ends[card_size]]
        beta = path.beta[card_size]
        return cls(literals, beta[1 : 1 + len(literals)], float(beta[0]), float(path.threshold[card_size]))

    def ranked(self) -> Iterator[tuple[int, int, float]]:
        """Yield the rank of each literal from 1, the literal and its weight."""
        return zip(itertools.count(1), self.literals.tolist(), self.weights.tolist(), strict=False)

    def scores(self, has: Bools) -> Float64s:
        """Return the scores of sentences that have these of the card's literals, `has [k, m]`, rounded."""
        return np.round(self.intercept + has @ self.weights, DECIMALS)

    def renumbered(self, number: Int64s) -> Self:
        """Return the card with its literals renumbered by `number`, `[M]`."""
        return type(self)(number[self.literals], self.weights, self.intercept, self.threshold)


def fold_scores(cards: Sequence[Sequence[Card]], bits: UInt64s, layout: Layout) -> Float64s:
    """Return the scores of the sentence of each bit by the cards of its own fold, `[sizes, 64 * words]`, rounded.

    Args:
        cards: for each size, the card of each fold; the literals of a fold's cards begin alike.
        bits: the sentences that have each literal, `[M, words]`.
        layout: where the bits of the sentences are.
    """
    scores = np.zeros((len(cards), 64 * layout.words))
    for fold, of_fold in enumerate(zip(*cards, strict=True)):
        literals = max((card.literals for card in of_fold), key=len)
        beta = np.zeros((len(cards), 1 + len(literals)))
        for row, card in zip(beta, of_fold, strict=True):
            row[: 1 + len(card.literals)] = card.intercept, *card.weights
        _add(bits, literals, beta, int(layout.starts[fold]), int(layout.starts[fold + 1]), scores)
    return np.round(scores, DECIMALS)


@compiled
def _add(bits: UInt64s, literals: Int64s, beta: Float64s, first: int, stop: int, scores: Float64s) -> None:
    """Add the intercepts, and the weights of the literals, `beta [sizes, 1 + m]`, to the bits of some words."""
    for size in range(len(beta)):
        row = scores[size]
        row[64 * first : 64 * stop] = beta[size, 0]
        for index in range(literals.size):
            weight = beta[size, 1 + index]
            if weight:
                for word in range(first, stop):
                    left = bits[literals[index], word]
                    for bit in range(64 * word, 64 * word + 64):
                        row[bit] += weight * (left & np.uint64(1))
                        left >>= np.uint64(1)
