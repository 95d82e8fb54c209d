"""The rows of `explanation_terms/` and `explanation_folds/`: the literals of published and of folds' cards."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Bools, Float64s, Int64s
from ops.explain.card import Card
from ops.explain.set_explainer import Folded
from ops.explain.test_scores import Asked
from ops.literals.literal import Literal

EXAMPLES = 3  # example sentences for each literal
Row = dict[str, Any]


class CardRows:
    """Collects the rows of both tables.

    Args:
        sent_id: the sentence id of every row of the store.
    """

    def __init__(self, sent_id: Int64s) -> None:
        self._sent_id = sent_id
        self._terms: list[Row] = []
        self._folds: list[Row] = []

    def tables(self) -> dict[str, pa.Table]:
        """Return the rows of both tables."""
        return {
            "explanation_terms": schema.table("explanation_terms", self._terms),
            "explanation_folds": schema.table("explanation_folds", self._folds),
        }

    def add_terms(self, key: Row, terms: Sequence[Row]) -> None:
        """Add the literals of an activation model, whose columns but for the neuron's are given."""
        self._terms += [key | term for term in terms]

    def add_card(
        self, key: Row, folded: Folded, published: Card, literals: Sequence[Literal], winners: Int64s
    ) -> list[Row]:  # fmt: skip
        """Add the literals of a published card and of the cards of its folds, and return the rows of the former.

        Args:
            key: the columns of the neuron and pole.
            folded: the cards of the folds.
            published: the published card, in terms of candidates.
            literals: the candidates.
            winners: the rows of the winners, sorted by rank.
        """
        for fold, card in enumerate(folded.cards):
            for rank, candidate, weight in card.ranked():
                row = named(literals[candidate]) | {"negated": weight < 0, "weight": weight}
                ends = {"intercept": card.intercept, "threshold": card.threshold}
                self._folds.append({**key, "fold": fold, "rank": rank, **row, **ends})
        terms = []
        gains = lost_precision(folded, published)
        for rank, candidate, weight in published.ranked():
            chosen, negated = folded.chosen_by(candidate), weight < 0
            holding = np.isin(winners, folded.holding(candidate, negated))
            copies = np.flatnonzero(folded.lesson.near[candidate]).tolist()
            terms.append(
                {
                    **key, "model": "winners", "rank": rank, **named(literals[candidate]), "negated": negated,
                    "weight": weight, **shares(folded, candidate, negated, chosen), "gain": gains[rank - 1],
                    "stability": int(chosen.sum()), "also": [literals[i].pattern for i in copies if i != candidate],
                    "sent_ids": self._sent_id[winners[holding][:EXAMPLES]].tolist(),
                }
            )  # fmt: skip
        self._terms += terms
        return terms


def named(literal: Literal) -> Row:
    """Return the columns that name a literal."""
    return {"kind": literal.kind, "pattern": literal.pattern, "items": list(literal.items)}


def shares(folded: Folded, candidate: int, negated: bool, chosen: Bools) -> Row:
    """Return the shares of winners and of other sentences for which a candidate holds as stated.

    They are counted in the test folds of the cards that chose it, or in all folds if these have no winner, among the
    sentences for which it is known.
    """
    of_winners, of_others, sizes = folded.lesson.by_fold
    known = folded.lesson.candidates.known[candidate]
    every = sizes if known < 0 else np.stack((of_winners[:, known], of_others[:, known]), 1)
    folds = chosen if every[chosen, 0].any() else np.ones_like(chosen)
    having = np.array([of_winners[folds, candidate].sum(), of_others[folds, candidate].sum()], np.float64)
    total = every[folds].sum(0)
    having = total - having if negated else having
    share, other = (float(a / n) if n else np.nan for a, n in zip(having, total, strict=True))
    return {"share": share, "baseline_share": other}


def lost_precision(folded: Folded, published: Card) -> Float64s:
    """Return the average precision that the cards of the folds lose without each literal of a card, `[m]`.

    The literal and its near-copies get no weight; the other weights stay.
    """
    if not len(published.literals):
        return np.zeros(0)
    without = [
        [
            replace(card, weights=np.where(folded.lesson.near[literal][card.literals], 0.0, card.weights))
            for card in folded.cards
        ]
        for literal in published.literals
    ]
    asked = Asked.of(folded.lesson, without)
    left = np.array([asked.ranked(size).average_precision.value for size in range(len(without))])
    return np.asarray(folded.asked.ranked(folded.size).average_precision.value - left)
