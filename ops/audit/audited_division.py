"""One division of the corpus: the cards learned in a part are tested on the winners of all parts of its group."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ops.arrays import Bools, Float64s, Int8s, Int32s, Int64s, places_among
from ops.audit.divisions import HALVES, LEAST_DOCUMENTS, LEAST_WINNERS, Division
from ops.audit.transfer import Precisions
from ops.compiled import compiled
from ops.explain.card import Card
from ops.explain.choose import DECIMALS
from ops.explain.set_explainer import Known, Pool, SetExplainer
from ops.literals.find import Literals
from ops.literals.incidence import incidence
from ops.mine.held_out_sets import Matcher
from ops.sentences.folds import FOLDS
from ops.sentences.store import SentenceStore
from ops.statistics.average_precision import Precision, Ranked, average_precision

_UNIT = 10**DECIMALS  # the weights of cards are integer multiples of 1 / _UNIT


class RangeWinners:
    """The literals of the winners of a range of neurons, found for all of them at once."""

    def __init__(self, literals: Literals) -> None:
        self._literals = literals
        self.load(np.zeros(0, np.int64))

    def load(self, rows: Int64s) -> None:
        """Find the literals of these rows, which are distinct and ascending."""
        self._rows = rows
        self._by_sentence = incidence(self._literals.find(rows), len(rows)).T.tocsr()

    def find(self, rows: Int64s, which: Int64s | None = None) -> csr_array:
        """Return which of some loaded rows have each literal of `which`, or of all if it is None."""
        every = self._by_sentence[np.searchsorted(self._rows, rows)].T.tocsr()
        every.sort_indices()
        return every if which is None else every[which]


@dataclass(frozen=True)
class DatasetWinners:
    """The winners of one neuron and pole in the parts of a division.

    Attributes:
        rows: their rows, ascending, `[m]`.
        part, fold, document: the part, the fold and the document of each, `[m]`.
        matrix: which literals they have, `[L, m]`.
        others: which of the division's baseline sentences are not among them, `[n]`.
        n, documents, freedom: for each part, the number of winners, of their documents, and the documents' degrees of
            freedom, `[D]`.
        usable: which parts have enough winners, `[D]`.
    """

    rows: Int64s
    part: Int32s
    fold: Int8s
    document: Int64s
    matrix: csr_array
    others: Bools
    n: Int64s
    documents: Int64s
    freedom: Float64s
    usable: Bools


class AuditedDivision:
    """Learns and tests the cards of one division.

    Args:
        rows, matrix: the rows of the baseline, ascending, and which literals these sentences have, `[L, rows]`.
        most: maximum number of literals on a card, not counting nuisance.

    Attributes:
        rows: the rows of the baseline sentences that belong to a part, ascending, `[n]`.
        matrix: which literals these sentences have, `[L, n]`.
        part, fold, document: the part, the fold and the document of each of them, `[n]`. A document with sentences in
            several parts is one document in each of them.
        part_of: the part of each document.
    """

    def __init__(
        self, division: Division, rows: Int64s, matrix: csr_array, sentences: SentenceStore, literals: Literals,
        winners: RangeWinners, most: int, seed: int,
    ) -> None:  # fmt: skip
        self.division, self._winners, self._seed = division, winners, seed
        self._fold_of, of_row, documents = np.asarray(sentences.fold), division.of_row, sentences.documents
        pairs = of_row.astype(np.int64) * documents + np.asarray(sentences.doc)
        codes, self._document_of = np.unique(pairs, return_inverse=True)
        self.part_of = np.maximum(codes // documents, 0).astype(np.int32)
        inside = of_row[rows] >= 0
        self.rows, self.matrix = rows[inside], matrix[:, inside]
        self.part, self.fold = of_row[self.rows], self._fold_of[self.rows]
        self.document = self._document_of[self.rows]
        pool = Pool(literals.nuisance, literals.plainness, literals.known, winners.find)
        self._sets = []
        for part, size in enumerate(division.sizes.tolist()):
            in_part = self.part == part
            known = Known(self.rows[in_part], self.matrix[:, in_part])
            self._sets.append(SetExplainer(known, pool, self._document_of, self._fold_of, int(size), most))
        self._matcher = Matcher(self.rows, np.maximum(of_row, 0), sentences.lengths, sentences.longest)

    def winners(self, rows: Int64s) -> DatasetWinners:
        """Return those of a set's winners, given by ascending rows, that belong to a part."""
        division = self.division
        rows = rows[division.of_row[rows] >= 0]
        document = self._document_of[rows]
        places, size = np.unique(document, return_counts=True)
        n, squares, documents = (
            np.bincount(self.part_of[places], own, len(division)) for own in (size, size**2, np.ones(len(size)))
        )
        freedom = np.maximum(n**2 / np.maximum(squares, 1) - 1, 1)
        halved = 2 if division.name == HALVES else 1
        usable = (n >= LEAST_WINNERS // halved) & (documents >= LEAST_DOCUMENTS // halved)
        others = np.ones(len(self.rows), np.bool_)
        others[places_among(self.rows, rows)[0]] = False
        return DatasetWinners(
            rows, division.of_row[rows], self._fold_of[rows], document, self._winners.find(rows), others,
            n.astype(np.int64), documents.astype(np.int64), freedom, usable,
        )  # fmt: skip

    def precisions(self, number: int, winners: DatasetWinners) -> Precisions:
        """Return the average precisions, in each part, of the cards of a set of winners.

        The random sets depend on the number of the set.
        """
        parts, documents = len(self.division), len(self.part_of)
        values, errors = np.full((2, parts, parts), np.nan), np.zeros((2, parts, parts))
        effects = np.zeros((2, parts, documents))
        for start in np.flatnonzero(winners.usable).tolist():
            rows = winners.rows[winners.part == start]
            drawn = self._matcher.draw(rows, self._seed, number * parts + start)
            inside = winners.usable & (self.division.group == self.division.group[start])
            for which, learned in enumerate((rows, drawn)):
                folded = self._sets[start].fold(learned)
                precision = self._ask([card.renumbered(folded.which) for card in folded.cards], start, winners)
                values[which, start, inside] = precision.value[inside]
                effects[which, start] = np.where(inside[self.part_of], precision.effects, 0.0)
        products = np.zeros((parts, parts, parts))
        correction = winners.documents / np.maximum(winners.documents - 1, 1)
        for to in np.flatnonzero(winners.usable).tolist():
            of_part = effects[:, :, self.part_of == to]
            errors[:, :, to] = np.sqrt(correction[to] * (of_part**2).sum(2))
            gain = of_part[0] - of_part[1]
            products[to] = correction[to] * gain @ gain.T
        return Precisions(values, errors, products, winners.documents, winners.freedom, self.division.group)

    def _ask(self, cards: list[Card], start: int, winners: DatasetWinners) -> Precision:
        """Return the average precisions of the cards of the folds in the parts of one's group."""
        division, group = self.division, int(self.division.group[start])
        literals = np.unique(np.concatenate([card.literals for card in cards]))
        weights = np.zeros((len(literals), FOLDS), np.int64)
        for fold, card in enumerate(cards):
            weights[np.searchsorted(literals, card.literals), fold] = np.round(card.weights * _UNIT)
        of_winners = _scores(winners.matrix.indices, winners.matrix.indptr, literals, weights, winners.fold)
        scores = _scores(self.matrix.indices, self.matrix.indptr, literals, weights, self.fold)
        others = np.flatnonzero(winners.others & (division.group[self.part] == group))
        inside = division.group[winners.part] == group
        return average_precision(
            Ranked(winners.part[inside] * FOLDS + winners.fold[inside], winners.document[inside], of_winners[inside]),
            Ranked(self.part[others] * FOLDS + self.fold[others], self.document[others], scores[others]),
            len(division), FOLDS, len(self.part_of),
        )  # fmt: skip


@compiled
def _scores(sentences: Int32s, offsets: Int32s, literals: Int64s, weights: Int64s, fold: Int8s) -> Int64s:
    """Return the score of each sentence by the card of its fold, without the card's intercept, `[n]`.

    Given are the sentences that have each literal, the literals of all cards `[m]`, and their weights `[m, folds]`.
    """
    scores = np.zeros(fold.size, np.int64)
    for number in range(literals.size):
        for index in range(offsets[literals[number]], offsets[literals[number] + 1]):
            scores[sentences[index]] += weights[number, fold[sentences[index]]]
    return scores
