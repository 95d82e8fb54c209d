"""The score card of one neuron and pole: which literals tell its winners from the rest of the corpus."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ops.arrays import Bools, Int64s, UInt8s
from ops.explain.held_out_scores import CardScores, evaluate
from ops.explain.known_literals import KnownLiterals, beside, some_of
from ops.explain.score_card import Labelled, ScoreCard, learn, learn_nuisance
from ops.explain.screening import screen
from ops.patterns.occurrences import Occurrences

SHORTLIST = 200  # literals that stand out by themselves, from which a card is chosen
SCREENED = 1_000  # training winners on which they are found
# Documents share the draws of the bootstrap with others of the same number, modulo this: memory does not grow.
DRAWN_DOCUMENTS = 1 << 16


@dataclass(frozen=True)
class Known:
    """The sentences whose literals are known: the baseline, and others that all neurons are set against.

    Attributes:
        rows: of the store, ascending, `[n]`.
        weighs: whether a sentence stands for the corpus when it is no winner, `[n]`.
        document, held_out: `[n]`.
        matrix: which of the pool's literals each has.
    """

    rows: Int64s
    weighs: Bools
    document: Int64s
    held_out: Bools
    matrix: KnownLiterals


@dataclass(frozen=True)
class Others:
    """Sentences beyond the known ones.

    Attributes:
        find: returns which of these rows have each of these literals of the pool; None: all of the pool.
        document, held_out: of every row of the store.
    """

    find: Callable[[Int64s, Int64s | None], Occurrences]
    document: Int64s
    held_out: Bools


@dataclass(frozen=True)
class Own:
    """Literals of one neuron and pole alone: hubs, and words that are not in the pool.

    Attributes:
        nuisance, plainness: of each, `[m]`.
        known: which of the known sentences have each.
        of_rows: returns which of these rows, none of them known, have each.
    """

    nuisance: Bools
    plainness: Int64s
    known: Occurrences
    of_rows: Callable[[Int64s], Occurrences]


NONE = Own(
    np.zeros(0, np.bool_),
    np.zeros(0, np.int64),
    Occurrences(np.zeros(0, np.int32), np.zeros(1, np.int64)),
    lambda _: Occurrences(np.zeros(0, np.int32), np.zeros(1, np.int64)),
)


@dataclass(frozen=True)
class Explained:
    """What a set of winners was explained by.

    Attributes:
        card: its literals, as places in the pool; from its length on, in `Own`.
        scores: on the test half.
        nuisance_f1: that of the card of nuisance alone.
        has: for each literal of the card, the rows of winners that have it, ascending.
    """

    card: ScoreCard
    scores: CardScores
    nuisance_f1: float
    has: list[Int64s] = field(default_factory=list)


class SetExplainer:
    """Learns score cards on the training documents, and scores them on the others.

    Args:
        known: the sentences that all sets are set against.
        others: finds literals in other sentences.
        nuisance, plainness: of the pool's literals, `[L]`.
        sentences: of the corpus that were scored, N.
        resamples: draws of documents, `[DRAWN_DOCUMENTS or fewer, draws]`; None: no intervals.
        most: literals of a card, besides nuisance.
    """

    def __init__(
        self,
        known: Known,
        others: Others,
        nuisance: Bools,
        plainness: Int64s,
        sentences: int,
        resamples: UInt8s | None,
        most: int,
    ) -> None:
        self.known, self.others = known, others
        self.nuisance, self.plainness = nuisance, plainness
        self.sentences, self.resamples, self.most = sentences, resamples, most
        self._nuisance, self._language = np.flatnonzero(nuisance), np.flatnonzero(~nuisance)
        self._training = known.matrix.support(np.flatnonzero(known.weighs & ~known.held_out))

    def explain(self, winners: Int64s, own: Own = NONE, intervals: bool = True) -> Explained:
        """Explain a set of winners.

        Args:
            winners: rows, ascending and distinct.
            own: literals that only they are asked.
            intervals: of the scores; else they are NaN.
        """
        known = self.known
        place = np.searchsorted(known.rows, winners)
        is_known = np.zeros(len(winners), np.bool_)
        inside = place < len(known.rows)
        is_known[inside] = known.rows[place[inside]] == winners[inside]
        places, further = place[is_known], winners[~is_known]
        labelled = self._labelled(places, further)
        which = self._shortlist(places, further, labelled)
        found = beside(some_of(known.matrix.found, which), own.known)
        if len(further):
            beyond = beside(self.others.find(further, which), own.of_rows(further))
            found = _stacked(found, beyond, len(known.rows))
        nuisance = np.concatenate((self.nuisance[which], own.nuisance))
        plainness = np.concatenate((self.plainness[which], own.plainness))
        number = np.concatenate((which, len(self.nuisance) + np.arange(len(own.nuisance))))
        candidates = len(self._language) + int(np.count_nonzero(~own.nuisance))
        plain = learn_nuisance(found, labelled, nuisance, plainness)
        card = learn(found, labelled, nuisance, plainness, max(candidates, 1), self.most, base=plain)
        alone = evaluate(plain, found, labelled, None)
        scores = evaluate(card, found, labelled, self.resamples if intervals else None)
        row = np.concatenate((known.rows, further))
        is_winner = labelled.winner
        has = []
        for literal, weight in zip(card.literals, card.weights, strict=True):
            mask = np.zeros(len(row), np.bool_)
            mask[found.sentences[found.offsets[literal] : found.offsets[literal + 1]]] = True
            has.append(np.sort(row[(mask if weight > 0 else ~mask) & is_winner]))
        return Explained(_renumbered(card, number), scores, alone.f1, has)

    def _labelled(self, places: Int64s, further: Int64s) -> Labelled:
        known, others = self.known, self.others
        n = len(known.rows)
        winner = np.zeros(n + len(further), np.bool_)
        winner[places] = winner[n:] = True
        weight = winner.astype(np.float64)
        rest = np.flatnonzero(known.weighs & ~winner[:n])
        total = len(places) + len(further)
        weight[rest] = (self.sentences - total) / max(len(rest), 1)
        document = np.concatenate((known.document, others.document[further]))
        held_out = np.concatenate((known.held_out, others.held_out[further]))
        return Labelled(winner, weight, document % DRAWN_DOCUMENTS, held_out)

    def _shortlist(self, places: Int64s, further: Int64s, labelled: Labelled) -> Int64s:
        """Return the literals that a card is chosen from, by training documents alone: all nuisance, then the best."""
        known, n = self.known, len(self.known.rows)
        training, beyond = places[~known.held_out[places]], further[~labelled.held_out[n:]]
        total = len(training) + len(beyond)
        step = -(-total // SCREENED) if total else 1
        some, others = training[::step], beyond[::step]
        with_winners = known.matrix.support(some)
        if len(others):
            with_winners = with_winners + self.others.find(others, None).support()
        inside = training[known.weighs[training]]
        with_rest = self._training - known.matrix.support(inside)
        rest = np.count_nonzero(known.weighs & ~known.held_out) - len(inside)
        each = (self.sentences - labelled.winner.sum()) / max(labelled.weight[~labelled.winner].astype(bool).sum(), 1)
        share = (len(some) + len(others)) / max(total, 1)
        own, scale = self._language, each * share
        best = screen(with_winners[own], len(some) + len(others), with_rest[own] * scale, rest * scale, SHORTLIST, each)
        return np.concatenate((self._nuisance, own[best]))


def _stacked(first: Occurrences, second: Occurrences, sentences: int) -> Occurrences:
    """Return the occurrences of the same literals over `sentences` and then over further ones."""
    support = first.support() + second.support()
    offsets = np.concatenate(([0], np.cumsum(support)))
    items = np.empty(offsets[-1], np.int32)
    order = np.concatenate(
        (
            np.repeat(offsets[:-1] - first.offsets[:-1], first.support()) + np.arange(len(first.sentences)),
            np.repeat(offsets[:-1] + first.support() - second.offsets[:-1], second.support())
            + np.arange(len(second.sentences)),
        )
    )
    items[order] = np.concatenate((first.sentences, second.sentences + np.int32(sentences)))
    return Occurrences(items, offsets)


def _renumbered(card: ScoreCard, number: Int64s) -> ScoreCard:
    return replace(
        card,
        literals=number[card.literals],
        also=[number[places] for places in card.also],
        single=int(number[card.single]) if card.single >= 0 else -1,
    )
