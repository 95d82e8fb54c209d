"""The items of winners - words, pairs of neighbours and literals - and how often each was to be expected."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ops.arrays import Bools, Float64s, Int64s
from ops.explain.find import Literals
from ops.explain.incidence import occurrences
from ops.explain.set_explainer import places_among
from ops.explain.strata import CellCounts, Cells, Strata
from ops.explain.word_keys import LEAST_DOCUMENTS, distinct_keys
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from ops.shards import spans

KINDS = ("tag", "subtree", "word_class", "form", "value")  # of literals that are items
LEAST_WINNERS = 4
# Standard deviations above the expected number of winners; with fewer, a p-value is above 0.05, or above 0.05 / 3.
DEVIATIONS, MORE_DEVIATIONS = 1.5, 2.0
_ROWS = 1 << 16  # sentences processed at once
_COUNTS = 1 << 22  # counts of literals and cells in memory at once


@dataclass(frozen=True)
class Items:
    """Items of a set of winners, `[items]`, with one entry for each winner, by document.

    Attributes:
        key: the key of each word or pair (`ops.explain.word_keys`); -1 for a literal.
        literal: the index of each literal in the pool; -1 for a word or pair.
        has: which winners have each item, `[items, winners]`.
        counted: the winners for which it is known whether they have the item: of a label, those that have its key,
            `[items, winners]`.
        chance: the probability that each winner has the item; 0 where it is not counted, `[items, winners]`.
    """

    key: Int64s
    literal: Int64s
    has: Bools
    counted: Bools
    chance: Float64s

    def take(self, some: Int64s) -> "Items":
        """Return some of the items, by index."""
        return Items(*(column[some] for column in vars(self).values()))


@dataclass(frozen=True)
class Winners:
    """Winners by document.

    Attributes:
        rows: their rows in the store, `[winners]`.
        document: the codes of their documents, ascending, `[winners]`.
        first_half: which belong to folds 0 to 4, `[winners]`.
        literals: which literals of the pool each has, `[winners, L]`.
    """

    rows: Int64s
    document: Int64s
    first_half: Bools
    literals: csr_array


class ItemCounter:
    """Finds the items of winners that can be typical, and the chance of each winner to have them.

    Args:
        view: the sentences, with words in lower case.
        literals: the literals of the pool.
        baseline: the rows of the baseline, ascending.
        matrix: which baseline sentences have each literal, `[L, baseline]`.

    Attributes:
        is_item: which literals are items, `[L]`.
    """

    def __init__(self, view: MiningView, literals: Literals, baseline: Int64s, matrix: csr_array) -> None:
        self.view, self._baseline, self._known = view, baseline, literals.known
        self._names, self._size = len(view.word_names), len(literals)
        is_kind = np.array([literal.kind in KINDS for literal in literals.every], np.bool_)
        self.is_item = is_kind & ~literals.nuisance
        self._cells = Cells(view.store, baseline)
        asked = self.is_item.copy()
        asked[self._known[self.is_item & (self._known >= 0)]] = True
        self._keys, of_words = self._count_words()
        self._counts = self._count_literals(matrix, asked).then(of_words)

    def find(self, winners: Winners, hypotheses: int) -> Items:
        """Return the items that at least four winners of four documents have, and more of them than chance explains.

        An item is left out if the number of winners that have it is so near the expected number that its false
        discovery rate is above 5 %: its p-value is above 0.05, or above 0.05 / 3 if a third of the hypotheses would
        have to be at least as significant.

        Args:
            winners: the winners.
            hypotheses: the number of items over which false discovery rates are computed.
        """
        strata = Strata.make(self._cells, winners.rows, places_among(self._baseline, winners.rows)[1])
        by_literal = winners.literals.T.tocsr()
        key, literal, having = self._frequent(winners, by_literal)
        place = self._places(key, literal)
        deviations = MORE_DEVIATIONS if 3 * len(key) <= hypotheses else DEVIATIONS
        label = np.where(literal >= 0, self._known[literal], -1)
        # Of a label, chances are among sentences that have its key, which is looked at below.
        kept = np.flatnonzero((having.lengths > strata.expected(self._counts, place, having)) | (label >= 0))
        place, having = place[kept], having.take(kept)
        shares = strata.count(self._counts, place, having) / strata.sizes
        weight = strata.winners.astype(np.float64)
        expected = shares @ weight
        variance = expected - np.square(shares) @ weight
        least = expected + deviations * np.sqrt(np.maximum(variance, 0))
        far = np.flatnonzero((having.lengths > least) | (label[kept] >= 0))
        kept, having, shares = kept[far], having.take(far), shares[far]
        key, literal, label = key[kept], literal[kept], label[kept]
        n = len(winners.rows)
        counted = np.ones((len(kept), n), np.bool_)
        for number in np.unique(label[label >= 0]).tolist():
            known = by_literal.indices[by_literal.indptr[number] : by_literal.indptr[number + 1]].astype(np.int32)
            have_key = Sequences(known, np.array([0, len(known)]))
            sentences = strata.count(self._counts, np.array([number]), have_key)[0]
            shares[label == number] *= strata.sizes / np.maximum(sentences, 1)
            counted[label == number] = _as_rows(have_key, n)
        chance = np.where(counted, shares[:, strata.of], 0.0)
        items = Items(key, literal, _as_rows(having, n), counted, chance)
        least = chance.sum(1) + deviations * np.sqrt((chance * (1 - chance)).sum(1))
        return items.take(np.flatnonzero(having.lengths > least))

    def chance_of_any(self, winners: Winners, sentences: Int64s, has: Bools) -> Float64s:
        """Return the probability that each winner has any of several items, `[winners]`.

        Args:
            winners: the winners.
            sentences: the baseline sentences that have any of the items, as indices into the baseline.
            has: which winners have any of them.
        """
        strata = Strata.make(self._cells, winners.rows, places_among(self._baseline, winners.rows)[1])
        cell, count = np.unique(self._cells.of(self._baseline[sentences]), return_counts=True)
        counts = CellCounts.of(np.zeros(len(cell), np.int64), cell, count, 1)
        having = np.flatnonzero(has).astype(np.int32)
        own = strata.count(counts, np.zeros(1, np.int64), Sequences(having, np.array([0, len(having)])))[0]
        return np.asarray((own / strata.sizes)[strata.of])

    def _frequent(self, winners: Winners, by_literal: csr_array) -> tuple[Int64s, Int64s, Sequences]:
        """Return the key and the literal of each item of enough winners and documents, and the winners that have it."""
        key, sentence = distinct_keys(self.view.words(winners.rows), self._names)
        first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
        words = Sequences(sentence.astype(np.int32), np.append(first, len(key)))
        found = occurrences(by_literal)
        literals = Sequences(found.sentences, found.offsets)
        often = np.flatnonzero(words.lengths >= LEAST_WINNERS)
        listed = np.flatnonzero(self.is_item & (literals.lengths >= LEAST_WINNERS))
        having = Sequences.concatenate([words.take(often), literals.take(listed)])
        keys = np.concatenate((key[first[often]], np.full(len(listed), -1)))
        numbers = np.concatenate((np.full(len(often), -1), listed))
        enough = np.flatnonzero(documents_of(having, winners.document) >= LEAST_DOCUMENTS)
        return keys[enough], numbers[enough], having.take(enough)

    def _places(self, key: Int64s, literal: Int64s) -> Int64s:
        """Return the row of each item in the counts; -1 for a word or pair that no baseline sentence has."""
        place, is_there = places_among(self._keys, key)
        found = literal.copy()  # -1 for a word or pair
        found[is_there] = self._size + place
        return found

    def _count_words(self) -> tuple[Int64s, CellCounts]:
        """Return the keys of the baseline's words and pairs, ascending, and the number of sentences of each cell."""
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for start, stop in spans(len(self._baseline), _ROWS):
            rows = self._baseline[start:stop]
            key, sentence = distinct_keys(self.view.words(rows), self._names)
            number = key * self._cells.size + self._cells.of(rows)[sentence]
            parts.append(np.unique(number, return_counts=True))
        numbers, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(numbers, kind="stable")
        numbers, counts = numbers[order], counts[order]
        first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
        count = np.add.reduceat(counts, first) if len(first) else counts
        key, cell = np.divmod(numbers[first], self._cells.size)
        keys, item = np.unique(key, return_inverse=True)
        return keys, CellCounts.of(item, cell, count, len(keys))

    def _count_literals(self, matrix: csr_array, asked: Bools) -> CellCounts:
        """Return how many baseline sentences of each cell have each literal; none where it is not asked for."""
        found, cell_of, cells = occurrences(matrix), self._cells.of(self._baseline), self._cells.size
        step = max(_COUNTS // max(cells, 1), 1)
        parts = [(np.zeros(0, np.int64),) * 3]
        for start in range(0, self._size, step):
            stop = min(start + step, self._size)
            first, last = found.offsets[[start, stop]].tolist()
            own = np.repeat(np.arange(stop - start), np.diff(found.offsets[start : stop + 1]))
            kept = asked[start:stop][own]
            number = own[kept] * cells + cell_of[found.sentences[first:last][kept]]
            counts = np.bincount(number, minlength=(stop - start) * cells)
            used = np.flatnonzero(counts)
            item, cell = np.divmod(used, cells)
            parts.append((start + item, cell, counts[used]))
        item, cell, count = (np.concatenate(column) for column in zip(*parts, strict=True))
        return CellCounts.of(item, cell, count, self._size)


def documents_of(having: Sequences, document: Int64s) -> Int64s:
    """Return from how many documents the winners of each list come, `[lists]`; the lists are ascending and not empty.

    Args:
        having: the winners of each list, as indices.
        document: the document of each winner, ascending.
    """
    if not len(having):
        return np.zeros(0, np.int64)
    own = document[having.items]
    is_new = np.append(True, own[1:] != own[:-1])[: len(own)]
    is_new[having.offsets[:-1]] = True
    return np.asarray(np.add.reduceat(is_new.astype(np.int64), having.offsets[:-1]))


def _as_rows(having: Sequences, n: int) -> Bools:
    has = np.zeros((len(having), n), np.bool_)
    has[np.repeat(np.arange(len(having)), having.lengths), having.items] = True
    return has
