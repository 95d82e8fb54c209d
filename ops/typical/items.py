"""The items of winners - words, pairs of neighbours and literals - and how often each was to be expected."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from ops.arrays import Bools, Float64s, Int64s, begins_group, places_among
from ops.literals.find import Literals
from ops.literals.word_keys import LEAST_DOCUMENTS, distinct_keys
from ops.sentences.mining_view import MiningView
from ops.shards import spans
from ops.typical.strata import Cells, Strata

KINDS = ("tag", "subtree", "word_class", "form", "value")  # of literals that are items
LEAST_WINNERS = 4
# Standard deviations above the expected number of winners; with fewer, a p-value is above 0.05, or above 0.05 / 3.
DEVIATIONS, MORE_DEVIATIONS = 1.5, 2.0
_ROWS = 1 << 16  # sentences processed at once
_LITERALS = 1 << 10  # literals counted at once


@dataclass(frozen=True)
class Items:
    """Items of a set of winners, `[items]`, with one entry for each winner, by document.

    Attributes:
        key: the key of each word or pair (`ops.literals.word_keys`); -1 for a literal.
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
        strata: their strata.
    """

    rows: Int64s
    document: Int64s
    first_half: Bools
    literals: csr_array
    strata: Strata

    def having(self, literal: int) -> Bools:
        """Return which winners have a literal, `[winners]`."""
        return np.asarray(self.literals[:, [literal]].toarray()[:, 0] > 0)


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
        counted = self.is_item.copy()
        counted[self._known[self.is_item & (self._known >= 0)]] = True
        self._row = np.where(counted, np.cumsum(counted) - 1, -1)  # of each literal in the counts
        self._keys, of_words = self._count_words()
        # The last row is that of an item that no baseline sentence has.
        nothing = csr_array((1, self._cells.size), dtype=np.int32)
        self._counts = vstack((*self._count_literals(matrix, np.flatnonzero(counted)), of_words, nothing), "csr")
        self._counts.sort_indices()
        self._nothing = self._counts.shape[0] - 1

    def find(self, winners: Winners, hypotheses: int) -> Items:
        """Return the items that at least four winners of four documents have, and more of them than chance explains.

        An item is left out if the number of winners that have it is so near the expected number that its false
        discovery rate is above 5 %: its p-value is above 0.05, or above 0.05 / 3 if a third of the hypotheses would
        have to be at least as significant.

        Args:
            winners: the winners.
            hypotheses: the number of items over which false discovery rates are computed.
        """
        strata, (key, literal, has) = winners.strata, self._frequent(winners)
        deviations = MORE_DEVIATIONS if 3 * len(key) <= hypotheses else DEVIATIONS
        shares = strata.count(self._counts, self._rows(key, literal), has) / strata.sizes
        weight = np.bincount(strata.of, minlength=len(strata.sizes)).astype(np.float64)
        expected = shares @ weight
        variance = expected - np.square(shares) @ weight
        label = np.where(literal >= 0, self._known[literal], -1)
        # Of a label, chances are among sentences that have its key, which is looked at below.
        far = np.flatnonzero((has.sum(1) > expected + deviations * np.sqrt(np.maximum(variance, 0))) | (label >= 0))
        key, literal, label, shares, has = key[far], literal[far], label[far], shares[far], has[far]
        counted = np.ones_like(has)
        for number in np.unique(label[label >= 0]).tolist():
            have_key = winners.having(number)
            sentences = strata.count(self._counts, self._row[[number]], have_key[None])[0]
            shares[label == number] *= strata.sizes / np.maximum(sentences, 1)
            counted[label == number] = have_key
        chance = np.where(counted, shares[:, strata.of], 0.0)
        least = chance.sum(1) + deviations * np.sqrt((chance * (1 - chance)).sum(1))
        return Items(key, literal, has, counted, chance).take(np.flatnonzero(has.sum(1) > least))

    def winners(self, rows: Int64s, document: Int64s, first_half: Bools, literals: csr_array) -> Winners:
        """Return winners by document, given what `Winners` describes."""
        strata = Strata.make(self._cells, rows, places_among(self._baseline, rows)[1])
        return Winners(rows, document, first_half, literals, strata)

    def chance_of_any(self, winners: Winners, sentences: Int64s, has: Bools) -> Float64s:
        """Return the probability that each winner has any of several items, `[winners]`.

        Args:
            winners: the winners.
            sentences: the baseline sentences that have any of the items, as indices into the baseline.
            has: which winners have any of them.
        """
        strata, cells = winners.strata, self._cells.of(self._baseline[sentences])
        before = np.concatenate(([0], np.cumsum(np.bincount(cells, minlength=self._cells.size))))
        having = before[strata.stop] - before[strata.first] + has[strata.further].astype(np.int64) @ strata.of_further
        return np.asarray((having / strata.sizes)[strata.of])

    def _frequent(self, winners: Winners) -> tuple[Int64s, Int64s, Bools]:
        """Return the key and the literal of each item of enough winners and documents, and which winners have it.

        The latter are `[items, winners]`.
        """
        key, winner = distinct_keys(self.view.words(winners.rows), self._names)
        first = np.flatnonzero(begins_group(key))
        ends = np.append(first, len(key))
        of_words = csr_array((np.ones(len(key), np.int8), winner, ends), (len(first), len(winners.rows)))
        often = np.flatnonzero(np.diff(ends) >= LEAST_WINNERS)
        number = np.bincount(winners.literals.indices, minlength=len(self.is_item))
        listed = np.flatnonzero(self.is_item & (number >= LEAST_WINNERS))
        has = np.concatenate((of_words[often].toarray(), winners.literals[:, listed].toarray().T)) > 0
        keys = np.concatenate((key[first[often]], np.full(len(listed), -1)))
        numbers = np.concatenate((np.full(len(often), -1), listed))
        enough = np.flatnonzero(documents_with(has, winners.document) >= LEAST_DOCUMENTS)
        return keys[enough], numbers[enough], has[enough]

    def _rows(self, key: Int64s, literal: Int64s) -> Int64s:
        """Return the row of each item in the counts."""
        place, is_there = places_among(self._keys, key)
        found = np.where(literal >= 0, self._row[literal], self._nothing)
        found[is_there] = self._row.max(initial=-1) + 1 + place
        return found

    def _count_words(self) -> tuple[Int64s, csr_array]:
        """Return the keys of the baseline's words and pairs, ascending, and how often each cell has each of them."""
        none = np.zeros(0, np.int64)
        parts, size = [(none, none, none)], self._cells.size
        for start, stop in spans(len(self._baseline), _ROWS):
            rows = self._baseline[start:stop]
            key, sentence = distinct_keys(self.view.words(rows), self._names)
            # The keys are numbered, because a key times the number of cells may exceed 64 bits.
            keys, item = np.unique(key, return_inverse=True)
            number, count = np.unique(item * size + self._cells.of(rows)[sentence], return_counts=True)
            parts.append((keys[number // size], number % size, count))
        key, cell, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        keys, item = np.unique(key, return_inverse=True)
        # Counts of the same word and cell are added.
        return keys, csr_array((counts.astype(np.int32), (item, cell)), (len(keys), size))

    def _count_literals(self, matrix: csr_array, counted: Int64s) -> Iterator[csr_array]:
        """Return how many baseline sentences of each cell have each of some literals, in blocks of literals."""
        n = len(self._baseline)
        cells = csr_array(
            (np.ones(n, np.int32), self._cells.of(self._baseline), np.arange(n + 1)), (n, self._cells.size)
        )
        for start, stop in spans(len(counted), _LITERALS):
            yield matrix[counted[start:stop]].astype(np.int32) @ cells


def documents_with(has: Bools, document: Int64s) -> Int64s:
    """Return from how many documents the winners with each item come, `[items]`.

    Args:
        has: which winners have each item, `[items, winners]`.
        document: the document of each winner, ascending.
    """
    item, winner = np.nonzero(has)
    return np.bincount(item[begins_group(item, document[winner])], minlength=len(has))
