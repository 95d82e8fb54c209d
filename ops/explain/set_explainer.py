"""The score cards of a set of winners: which literals distinguish them from the rest of the corpus, fold by fold."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from ops.arrays import Bools, Float64s, Int8s, Int32s, Int64s, places_among
from ops.bits import are_in, bits_of, picked
from ops.explain.card import Card
from ops.explain.literal_costs import costs, costs_of_more
from ops.explain.test_scores import Asked, Calls
from ops.explain.training import Candidates, Lesson, Sentences, shortlist
from ops.literals.incidence import count_by_fold, occurrences
from ops.sentences.folds import FOLDS

SCREENED = 1_000  # number of winners on which literals are listed


@dataclass(frozen=True)
class Known:
    """The sentences with which all sets of winners are compared: a sample of the corpus, or all of it.

    Attributes:
        rows: the sentences' rows in the store, ascending, `[n]`.
        matrix: which sentences have each of the pool's literals, `[L, n]`.
    """

    rows: Int64s
    matrix: csr_array


@dataclass(frozen=True)
class Pool:
    """What cards need to know about the literals of the pool.

    Attributes:
        nuisance, plainness: whether each literal is nuisance, and its plainness, `[L]`.
        known: for each literal, the literal that says for which sentences it is known; -1 for all sentences, `[L]`.
        find: a function that returns which of the given rows have each of the given literals. If the literals are
            None, it covers all of them.
    """

    nuisance: Bools
    plainness: Int64s
    known: Int64s
    find: Callable[[Int64s, Int64s | None], csr_array]


@dataclass(frozen=True)
class Own:
    """Literals that belong to one neuron and pole alone: hubs, and words that are not in the pool.

    Attributes:
        nuisance, plainness: whether each literal is nuisance, and its plainness, `[m]`.
        matrix: which of the known sentences have each literal, `[m, n]`.
        find: a function that returns which of the given rows, none of them known, have each literal.
    """

    nuisance: Bools
    plainness: Int64s
    matrix: csr_array
    find: Callable[[Int64s], csr_array]


@dataclass(frozen=True)
class Offered:
    """The literals that the cards of one set may have: the pool's, then the set's own, M in all.

    Attributes:
        own: the set's own literals; None if it has none.
        nuisance, plainness, known: see `Pool`, `[M]`.
        cost: the gain that each has to exceed without each fold, and with all folds, `[M, folds + 1]`.
    """

    own: Own | None
    nuisance: Bools
    plainness: Int64s
    known: Int64s
    cost: Float64s

    @classmethod
    def of(cls, pool: Pool, cost: Float64s, own: Own | None) -> "Offered":
        """Return the pool's literals with their cost, `[L, folds + 1]`, and those of a set after them."""
        if own is None:
            return cls(None, pool.nuisance, pool.plainness, pool.known, cost)
        more = costs_of_more(own.nuisance, pool.nuisance)[:, None]
        return cls(
            own, np.append(pool.nuisance, own.nuisance), np.append(pool.plainness, own.plainness),
            np.append(pool.known, np.full(len(own.nuisance), -1)), np.vstack((cost, np.tile(more, cost.shape[1]))),
        )  # fmt: skip


class Folded:
    """The cards of a set of winners, one for each fold of the documents and each size.

    Args:
        lesson: the sentences and the candidates.
        which: the literal that each candidate is; those past the pool's end are the set's own, `[M]`.
        rows: the rows of the lesson's winners in the store, in its order.
        most: maximum number of literals on a card, not counting nuisance.

    Attributes:
        size: number of literals that are not nuisance at which the cards are cut: the smallest number whose F1 is
            within one standard error of the best one's (Breiman and others 1984).
        asked: the sentences, each scored by the cards of its own fold.
        calls: what the cards of this size call winners, each in its own fold.
        of_nuisance: the same for the cards of nuisance literals alone.
        cards: the cards of this size; a fold whose choice ended earlier has its whole card.
    """

    def __init__(self, lesson: Lesson, which: Int64s, rows: Int64s, most: int) -> None:
        self.lesson, self.which, self.rows = lesson, which, rows
        paths = [lesson.learn(fold, most=most) for fold in range(FOLDS)]
        sizes = max((len(path.ends) for path in paths if path is not None), default=1)
        of_size = [[Card.of(path, size) for path in paths] for size in range(sizes)]
        self.asked = Asked.of(lesson, of_size)
        called = self.asked.calls()
        self.size = _smallest_good(called)
        self.calls, self.of_nuisance, self.cards = called[self.size], called[0], of_size[self.size]

    @property
    def documents(self) -> int:
        """Number of documents with winners."""
        return int(np.count_nonzero(self.calls.winners))

    @property
    def folds(self) -> int:
        """Number of folds with winners."""
        return len(np.unique(self.asked.fold[self.asked.winner]))

    def chosen_by(self, candidate: int) -> Bools:
        """Return the folds whose card has a candidate or a near-copy of it, `[folds]`."""
        near = self.lesson.near[candidate]
        return np.array([near[card.literals].any() for card in self.cards])

    def published(self) -> Card:
        """Return the card that is learned from all folds, from the literals that at least half of the folds chose."""
        votes = sum((self.lesson.near[card.literals].any(0).astype(np.int64) for card in self.cards), 0)
        allowed = self.lesson.candidates.nuisance | (2 * np.asarray(votes) >= FOLDS)
        return Card.of(self.lesson.learn(-1, allowed, self.size), self.size)

    def calls_of(self, card: Card) -> Calls:
        """Return what one card calls winners, of all sentences, those that it was learned from included."""
        return Asked.of(self.lesson, [[card] * FOLDS]).calls()[0]

    def holding(self, candidate: int, negated: bool) -> Int64s:
        """Return the rows of the winners that have a candidate, or for which it is known that they lack it."""
        candidates = self.lesson.candidates
        has = are_in(candidates.of_winners[candidate])
        if negated:
            known = candidates.known[candidate]
            has = ~has if known < 0 else ~has & are_in(candidates.of_winners[known])
        return self.rows[has[self.lesson.winners.layout.place]]


def _smallest_good(called: list[Calls]) -> int:
    """Return the smallest size whose F1 is at most one standard error of the difference below the highest F1."""
    f1 = [one.f1 for one in called]
    best = int(np.argmax([-1.0 if np.isnan(one.value) else one.value for one in f1]))
    for size in range(best):
        if f1[best].value - f1[size].value <= f1[best].error(f1[size])[0]:
            return size
    return best


class SetExplainer:
    """Learns score cards, each on nine folds of the documents, and tests them on the tenth.

    Args:
        known: the sentences that all sets are compared with.
        pool: the literals.
        document, fold: the code and the fold of the document of every row of the store.
        sentences: number of scored corpus sentences, N.
        most: maximum number of literals on a card, not counting nuisance.
    """

    def __init__(self, known: Known, pool: Pool, document: Int64s, fold: Int8s, sentences: int, most: int) -> None:
        self.known, self.pool, self.sentences, self.most = known, pool, sentences, most
        self._document, self._fold = document, fold
        self._others = Sentences.of(document[known.rows], fold[known.rows])
        self._by_sentence = known.matrix.T.tocsr()
        having, place = occurrences(known.matrix), self._others.layout.place
        self._placed, self._offsets = place[having.sentences].astype(np.int32), having.offsets
        self._totals = self._counted(np.arange(len(known.rows)))
        self._sizes = np.bincount(fold[known.rows], minlength=FOLDS)
        support = self._totals.sum(1)
        without = [*(support - of_fold for of_fold in self._totals.T), support]
        self._cost = np.stack([costs(some, pool.nuisance) for some in without], 1)
        self._last: tuple[Int64s, csr_array] | None = None

    def listed(self, winners: Int64s) -> tuple[Int64s, csr_array]:
        """Return the winners on which literals are listed, and which literals each has, `[winners, L]`.

        Args:
            winners: the winners' rows in the store, ascending and distinct. If there are many, every second, third and
                so on is returned, at most about 1,000.
        """
        places, is_known = places_among(self.known.rows, winners)
        listed, more = _sampled(places, winners[~is_known])
        rows, literals = np.concatenate((self.known.rows[listed], more)), self._by_sentence[listed]
        return rows, vstack((literals, self._find(more).T), "csr") if len(more) else literals

    def fold(self, winners: Int64s, own_literals: Own | None = None) -> Folded:
        """Learn the cards of a set of winners, and test them.

        Args:
            winners: the winners' rows in the store, ascending and distinct.
            own_literals: literals that are only tested on this set.
        """
        places, is_known = places_among(self.known.rows, winners)
        # The winners among the known sentences come first.
        further = winners[~is_known]
        rows = np.concatenate((winners[is_known], further))
        of_winners = Sentences.of(self._document[rows], self._fold[rows])
        others = self._others.without(self._others.layout.place[places])
        each = (self.sentences - len(rows)) / max(len(self.known.rows) - len(places), 1)
        offered = Offered.of(self.pool, self._cost, own_literals)
        which, listed = np.zeros(0, np.int64), np.zeros((FOLDS + 1, 0), np.bool_)
        if 0 < 2 * len(winners) <= self.sentences:
            which, listed = self._shortlist(places, further, each, offered)
        candidates = self._candidates(which, listed, places, further, offered, of_winners)
        return Folded(Lesson(of_winners, others, each, candidates), which, rows, self.most)

    def _shortlist(self, places: Int64s, further: Int64s, each: float, offered: Offered) -> tuple[Int64s, Bools]:
        """Return what `shortlist` returns; literals past the pool's end are the set's own."""
        fold, own_literals = self._fold, offered.own
        # Only a sample of many winners is listed, so the other sentences count proportionally less.
        listed, more = _sampled(places, further)
        inside = self._counted(places)
        winners, others = inside if len(listed) == len(places) else self._counted(listed), self._totals - inside
        sizes = np.stack(
            (np.bincount(fold[np.concatenate((self.known.rows[listed], more))], minlength=FOLDS),
             self._sizes - np.bincount(fold[self.known.rows[places]], minlength=FOLDS)), 1
        )  # fmt: skip
        if len(more):
            winners = winners + _counted_rows(self._find(more), fold[more])
        if own_literals is not None:
            of_own = own_literals.matrix.T.tocsr()
            of_known = [
                count_by_fold(of_own, some, fold[self.known.rows[some]], FOLDS)
                for some in (listed, places, np.arange(len(self.known.rows)))
            ]
            own_winners = of_known[0] + (_counted_rows(own_literals.find(more), fold[more]) if len(more) else 0)
            winners, others = np.vstack((winners, own_winners)), np.vstack((others, of_known[2] - of_known[1]))
        share = (len(listed) + len(more)) / (len(places) + len(further))
        return shortlist(winners, others, sizes, each * share, offered.known, offered.nuisance, offered.cost)

    def _candidates(
        self, which: Int64s, listed: Bools, places: Int64s, further: Int64s, offered: Offered, winners: Sentences
    ) -> Candidates:
        """Return literals with the winners and the other sentences that have them."""
        pool, own_literals, layout, size = self.pool, offered.own, self._others.layout, len(self.pool.nuisance)
        of_pool, of_own = which[which < size], which[which >= size] - size
        bits = bits_of(self._placed, self._offsets, of_pool, layout.words)
        if own_literals is not None:
            having = occurrences(own_literals.matrix)
            bits = np.concatenate((bits, bits_of(layout.place[having.sentences], having.offsets, of_own, layout.words)))
        inside = len(places)
        of_winners = picked(bits, layout.place[places], winners.layout.place[:inside], winners.layout.words)
        if len(further):
            parts = [pool.find(further, of_pool)]
            if own_literals is not None:
                parts.append(own_literals.find(further)[of_own])
            beyond = occurrences(vstack(parts, "csr"))
            to = winners.layout.place[inside:]
            of_winners |= bits_of(to[beyond.sentences], beyond.offsets, np.arange(len(which)), winners.layout.words)
        known = offered.known[which]
        key_index = np.where(known < 0, -1, np.searchsorted(which, known))
        return Candidates(
            of_winners, bits, key_index, offered.nuisance[which], offered.plainness[which], offered.cost[which], listed
        )

    def _find(self, rows: Int64s) -> csr_array:
        """Return which of these rows have each literal of the pool, `[L, rows]`; the last answer is kept."""
        if self._last is None or not np.array_equal(self._last[0], rows):
            self._last = rows, self.pool.find(rows, None)
        return self._last[1]

    def _counted(self, places: Int64s) -> Int32s:
        """Return how many of some known sentences of each fold have each literal, `[L, folds]`."""
        return count_by_fold(self._by_sentence, places, self._fold[self.known.rows[places]], FOLDS)


def _sampled(places: Int64s, further: Int64s) -> tuple[Int64s, Int64s]:
    """Return the winners on which literals are listed, of those that are known and of the further ones."""
    step = max(-(-(len(places) + len(further)) // SCREENED), 1)
    return places[::step], further[::step]


def _counted_rows(matrix: csr_array, fold: Int8s) -> Int32s:
    """Return how many of the sentences of each fold have each literal, `[L, folds]`, given `matrix [L, sentences]`."""
    return count_by_fold(matrix.T.tocsr(), np.arange(len(fold)), fold, FOLDS)
