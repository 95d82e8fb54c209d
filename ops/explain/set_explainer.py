"""The score card of one neuron and pole: which literals distinguish its winners from the rest of the corpus."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ops.arrays import Bools, Float64s, Int64s, UInt8s
from ops.explain.card_choice import Having
from ops.explain.held_out_scores import CardScores, evaluate, held_out_f1
from ops.explain.known_literals import KnownLiterals, beside
from ops.explain.literal_costs import costs, costs_of_more
from ops.explain.score_card import NO_LITERALS, Labelled, ScoreCard, Training
from ops.explain.screening import screen, sums_by_literal
from ops.explain.some_occurrences import of_literals, of_sentences, one_after_the_other
from ops.patterns.occurrences import Occurrences

SHORTLIST = 200  # number of literals, the best by themselves, from which a card is chosen
SCREENED = 1_000  # number of training winners on which these literals are found
# Documents with the same number modulo this share their bootstrap draws, so that memory does not grow.
DRAWN_DOCUMENTS = 1 << 16


@dataclass(frozen=True)
class Known:
    """The sentences whose literals are known: the baseline, and others that all neurons are compared with.

    Attributes:
        rows: the sentences' rows in the store, ascending, `[n]`.
        weighs: whether a sentence represents the corpus if it is not a winner, `[n]`.
        document, held_out: the code of each sentence's document, and whether that is in the test half, `[n]`.
        matrix: which of the pool's literals each sentence has.
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
        find: a function that returns which of the given rows have each of the given literals of the pool. If the
            literals are None, it covers all of them.
        document, held_out: the code of the document of every row of the store, and whether that is in the test half.
    """

    find: Callable[[Int64s, Int64s | None], Occurrences]
    document: Int64s
    held_out: Bools


@dataclass(frozen=True)
class Own:
    """Literals that belong to one neuron and pole alone: hubs, and words that are not in the pool.

    Attributes:
        nuisance, plainness: whether each literal is nuisance, and its plainness, `[m]`.
        known: which of the known sentences have each literal.
        of_rows: a function that returns which of the given rows have each literal. These rows must not be among the
            known sentences.
    """

    nuisance: Bools
    plainness: Int64s
    known: Occurrences
    of_rows: Callable[[Int64s], Occurrences]


NONE = Own(
    np.zeros(0, np.bool_),
    np.zeros(0, np.int64),
    NO_LITERALS,
    lambda _: NO_LITERALS,
)


@dataclass(frozen=True)
class Explained:
    """The explanation of a set of winners.

    Attributes:
        card: the score card. Its literals are indices into the pool; indices past the pool's end refer to `Own`.
        scores: the card's scores on the test half, and its shares.
        nuisance_f1: F1 of the card of nuisance literals alone, on the test half.
        has: for each literal of the card, the rows of winners that have it as stated, ascending, if requested.
    """

    card: ScoreCard
    scores: CardScores
    nuisance_f1: float
    has: list[Int64s] = field(default_factory=list)


class SetExplainer:
    """Learns score cards on the training documents, and scores them on the others.

    Args:
        known: the sentences that all sets are compared with.
        others: finds literals in other sentences.
        nuisance, plainness: whether each of the pool's literals is nuisance, and its plainness, `[L]`.
        sentences: number of scored corpus sentences, N.
        resamples: how often each bootstrap sample contains each document, `[DRAWN_DOCUMENTS or fewer, samples]`; None
            for no intervals.
        most: maximum number of literals on a card, not counting nuisance.
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
        self.others, self.nuisance, self.plainness = others, nuisance, plainness
        self.sentences, self.resamples, self.most = sentences, resamples, most
        self._weighs = np.where(known.weighs, np.cumsum(known.weighs) - 1, -1).astype(np.int32)
        self.known = known if known.weighs.all() else _those_that_weigh(known)
        training = ~self.known.held_out
        self._number = np.where(training, np.cumsum(training) - 1, -1).astype(np.int32)
        self._training = self.known.matrix.of(training)
        self._support = self._training.found.support()
        self._cost = costs(self._support, nuisance)
        self._nuisance = np.flatnonzero(nuisance)
        self._document = self.known.document % DRAWN_DOCUMENTS
        self._trains = np.flatnonzero(training)
        self._training_document = self._document[training]

    def explain(self, winners: Int64s, own: Own = NONE, intervals: bool = True, terms: bool = True) -> Explained:
        """Explain a set of winners.

        Args:
            winners: the winners' rows in the store, ascending and distinct.
            own: literals that are only tested on this set.
            intervals: whether to compute intervals of the scores; otherwise they are NaN.
            terms: whether to compute what is lost without each literal, which winners have it, and the score of the
                best single literal; otherwise these are NaN and empty.
        """
        known = self.known
        places, is_known = places_among(known.rows, winners)
        further = winners[~is_known]
        # Training winners come first.
        further = further[np.argsort(self.others.held_out[further], kind="stable")]
        labelled = self._labelled(places, further)
        which, with_winners = self._shortlist(places, further, labelled)
        nuisance = np.concatenate((self.nuisance[which], own.nuisance))
        plainness = np.concatenate((self.plainness[which], own.plainness))
        of_own = own.known if known.rows.size == self._weighs.size else of_sentences(own.known, self._weighs)
        beyond = beside(self.others.find(further, which), own.of_rows(further)) if len(further) else None
        training = self._training_half(labelled, which, with_winners, of_own, beyond, nuisance, plainness)
        cost = np.concatenate((self._cost[which], costs_of_more(own.nuisance, self.nuisance)))
        plain, card = training.learn(cost, self.most)
        asked = np.append(card.literals, card.single) if terms and card.single >= 0 else card.literals
        found = self._with_any(asked, which, of_own, beyond)
        # The card's literals are renumbered by their index among the requested ones. A literal that is also the best
        # single one keeps its first index.
        number = np.full(len(nuisance), -1, np.int64)
        number[asked[::-1]] = np.arange(len(asked))[::-1]
        scored = card.renumbered(number)
        scores = evaluate(scored, found, labelled, self.resamples if intervals else None, terms)
        alone = scores.f1
        if len(plain.literals) < len(card.literals):
            alone = held_out_f1(plain.renumbered(number), found, labelled)
        has = self._winners_with(scored, found, labelled, further) if terms else []
        places_of = np.concatenate((which, len(self.nuisance) + np.arange(len(own.nuisance))))
        return Explained(card.renumbered(places_of), scores, alone, has)

    def _with_any(self, asked: Int64s, which: Int64s, own: Occurrences, beyond: Occurrences | None) -> Occurrences:
        """Return which sentences of both halves, with the further ones last, have each of a few of the literals.

        Args:
            asked: indices of these few literals in the concatenation of `which` and the set's own literals.
            which: literals of the pool.
            own: the known sentences with each of the set's own literals.
            beyond: the further sentences with each of all these literals.
        """
        if not len(asked):
            return NO_LITERALS
        of_pool = asked < len(which)
        found = of_literals(self.known.matrix.found, which[asked[of_pool]])
        if not of_pool.all():
            place = np.argsort(np.argsort(~of_pool, kind="stable"))
            found = of_literals(beside(found, of_literals(own, asked[~of_pool] - len(which))), place)
        if beyond is None:
            return found
        return one_after_the_other(found, of_literals(beyond, asked), len(self.known.rows))

    def _labelled(self, places: Int64s, further: Int64s) -> Labelled:
        """Return the known sentences and further winners, labelled."""
        known, others = self.known, self.others
        n, total = len(known.rows), len(places) + len(further)
        winner = np.zeros(n + len(further), np.bool_)
        winner[places] = winner[n:] = True
        weight = np.where(winner, 1.0, (self.sentences - total) / max(n - len(places), 1))
        document, held_out = self._document, known.held_out
        if len(further):
            document = np.concatenate((document, others.document[further] % DRAWN_DOCUMENTS))
            held_out = np.concatenate((held_out, others.held_out[further]))
        return Labelled(winner, weight, document, held_out)

    def _training_half(
        self, labelled: Labelled, which: Int64s, with_winners: Int64s, own: Occurrences, beyond: Occurrences | None,
        nuisance: Bools, plainness: Int64s,
    ) -> Training:  # fmt: skip
        """Return the training half of a set, and which of its sentences have the requested literals.

        Args:
            labelled: the sentences.
            which: literals of the pool.
            with_winners: number of known winners of the training half that have each of these literals.
            own: the known sentences with each of the set's own literals.
            beyond: the further winners with each of all these literals.
            nuisance, plainness: whether each of all these literals is nuisance, and its plainness.
        """
        winner, document = labelled.winner[self._trains].astype(np.uint8), self._training_document
        support, trained = self._support[which], None
        if len(own.offsets) > 1:
            own = of_sentences(own, self._number)
            support = np.concatenate((support, own.support()))
            with_winners = np.concatenate((with_winners, sums_by_literal(own, winner).astype(np.int64)))
        if beyond is not None:
            known = len(self.known.rows)
            held_out = labelled.held_out[known:]
            winner = np.append(winner, np.ones(np.count_nonzero(~held_out), np.uint8))
            document = np.append(document, labelled.document[known:][~held_out])
            number = np.where(held_out, -1, np.arange(len(held_out))).astype(np.int32)
            trained = of_sentences(beyond, number)
            support, with_winners = support + trained.support(), with_winners + trained.support()

        having = Having.of(self._training.found, which, own, trained, self._training.sentences)
        return Training(
            having, with_winners, support, winner, document, labelled.baseline_weight, nuisance, plainness,
            labelled.too_many,
        )  # fmt: skip

    def _shortlist(self, places: Int64s, further: Int64s, labelled: Labelled) -> tuple[Int64s, Int64s]:
        """Return a card's candidate literals: all nuisance literals, then the best others, by training documents only.

        Also return how many of the known training winners have each of these literals.
        """
        inside: Int64s = self._number[places].astype(np.int64)
        inside = inside[inside >= 0]
        beyond = further[~labelled.held_out[len(self.known.rows) :]]
        total = len(inside) + len(beyond)
        step = -(-total // SCREENED) if total else 1
        some, others = inside[::step], beyond[::step]
        of_all = self._training.support(inside)
        with_winners = of_all.copy() if step == 1 else self._training.support(some)
        if len(others):
            with_winners += self.others.find(others, None).support()
        # Only a sample of the winners was screened, so the other sentences count proportionally less.
        share = (len(some) + len(others)) / max(total, 1)
        scale = labelled.baseline_weight * share
        with_rest: Float64s = (self._support - of_all) * np.float64(scale)
        with_winners[self._nuisance], with_rest[self._nuisance] = 0, 0.0
        rest = (self._training.sentences - len(inside)) * scale
        best = screen(with_winners, len(some) + len(others), with_rest, rest, SHORTLIST, scale)
        which = np.concatenate((self._nuisance, best))
        return which, of_all[which]

    def _winners_with(self, card: ScoreCard, found: Occurrences, labelled: Labelled, further: Int64s) -> list[Int64s]:
        """Return for each literal of a card the rows of winners that have it as stated, ascending."""
        winners, has = np.flatnonzero(labelled.winner), []
        rows = np.concatenate((self.known.rows[winners[: len(winners) - len(further)]], further))
        for literal, weight in zip(card.literals, card.weights, strict=True):
            holds = np.full(len(labelled.winner), weight <= 0)
            holds[found.sentences[found.offsets[literal] : found.offsets[literal + 1]]] = weight > 0
            has.append(np.sort(rows[holds[winners]]))
        return has


def places_among(rows: Int64s, some: Int64s) -> tuple[Int64s, Bools]:
    """Return the indices of `some` rows in `rows`, which is ascending, and which of them are found, `[some]`.

    >>> places_among(np.array([2, 5, 9]), np.array([9, 3, 2, 11]))[0].tolist()
    [2, 0]
    """
    place = np.searchsorted(rows, some)
    is_there = place < len(rows)
    is_there[is_there] = rows[place[is_there]] == some[is_there]
    return place[is_there], is_there


def _those_that_weigh(known: Known) -> Known:
    """Return only the sentences that represent the corpus, renumbered; other winners become further sentences."""
    keep = known.weighs
    return Known(known.rows[keep], keep[keep], known.document[keep], known.held_out[keep], known.matrix.of(keep))
