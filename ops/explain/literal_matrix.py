"""Which sentences have which literals, by literal and by sentence, with the counts that models are fitted to."""

import numpy as np
from scipy.sparse import csr_matrix

from ops.arrays import Float64s, Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.occurrences import Occurrences


class LiteralMatrix:
    """Literals and sentences, with the sentences reordered so that those that belong together are adjacent.

    Args:
        found: which sentences have each literal.
        order: the indices of the sentences in the desired order, each once, `[n]`.

    Raises:
        ValueError: a literal occurs in a sentence that is not in `order`.
    """

    def __init__(self, found: Occurrences, order: Int64s) -> None:
        if found.sentences.size and int(found.sentences.max()) >= len(order):
            raise ValueError(f"literal matrix: a literal occurs in sentence {found.sentences.max()} of {len(order)}")
        self._shape = (len(found.offsets) - 1, len(order))
        ones = np.ones(found.sentences.size, np.int8)
        by_literal = csr_matrix((ones, found.sentences, found.offsets), self._shape)[:, order]
        by_literal.sort_indices()
        by_sentence = by_literal.tocsc()
        self._sentences, self._starts = by_literal.indices.astype(np.int32), by_literal.indptr.astype(np.int64)
        self._literals, self._first = by_sentence.indices.astype(np.int32), by_sentence.indptr.astype(np.int64)

    def __len__(self) -> int:
        return self._shape[0]

    def sentences(self, literal: int) -> Int32s:
        """Return the positions, in the given order, of the sentences that have a literal, ascending."""
        return np.asarray(self._sentences[self._starts[literal] : self._starts[literal + 1]])

    def column(self, literal: int) -> Float64s:
        """Return 1 for the sentences that have a literal and 0 for the others, `[n]`."""
        values = np.zeros(self._shape[1])
        values[self.sentences(literal)] = 1.0
        return values

    def support(self, stop: int) -> Int64s:
        """Count the sentences before `stop` that have each literal, `[literals]`."""
        return _support(self._sentences, self._starts, stop)

    def documents(self, codes: Int64s) -> Int64s:
        """Count the documents with each literal, given the document codes of the first sentences, `[literals]`."""
        return _documents(self._sentences, self._starts, codes, int(codes.max(initial=-1)) + 1)

    def sums(self, values: Float64s, literals: Int64s | None = None) -> Float64s:
        """Sum the rows of values of the first sentences, `[some, columns]`, over some literals, `[literals, columns]`.

        The sum of a column does not depend on the other columns, not even by rounding.

        Args:
            values: the values of the first sentences.
            literals: the literals to sum over; None for all.
        """
        which = np.arange(len(self)) if literals is None else literals
        return _sums(self._sentences, self._starts, np.ascontiguousarray(values), which)

    def together(self, literal: int, first: int, stop: int) -> Int64s:
        """Count the sentences from `first` up to `stop` that have both a literal and each other one, `[literals]`."""
        own = self.sentences(literal)
        chosen = own[slice(*np.searchsorted(own, (first, stop)).tolist())]
        return _together(chosen, self._literals, self._first, len(self))


@compiled
def _support(sentences: Int32s, starts: Int64s, stop: int) -> Int64s:
    count = np.zeros(starts.size - 1, np.int64)
    for literal in range(count.size):
        for pair in range(starts[literal], starts[literal + 1]):
            if sentences[pair] >= stop:
                break
            count[literal] += 1
    return count


@compiled
def _documents(sentences: Int32s, starts: Int64s, codes: Int64s, documents: int) -> Int64s:
    count, seen = np.zeros(starts.size - 1, np.int64), np.full(documents, -1, np.int64)
    for literal in range(count.size):
        for pair in range(starts[literal], starts[literal + 1]):
            if sentences[pair] >= codes.size:
                break
            code = codes[sentences[pair]]
            if seen[code] != literal:
                seen[code] = literal
                count[literal] += 1
    return count


@compiled
def _sums(sentences: Int32s, starts: Int64s, values: Float64s, literals: Int64s) -> Float64s:
    sums = np.zeros((literals.size, values.shape[1]))
    for place in range(literals.size):
        own, literal = sums[place], literals[place]
        for pair in range(starts[literal], starts[literal + 1]):
            if sentences[pair] >= values.shape[0]:
                break
            row = values[sentences[pair]]
            for column in range(row.size):
                own[column] += row[column]
    return sums


@compiled
def _together(chosen: Int32s, literals: Int32s, first: Int64s, count: int) -> Int64s:
    counted = np.zeros(count, np.int64)
    for sentence in chosen:
        for pair in range(first[sentence], first[sentence + 1]):
            counted[literals[pair]] += 1
    return counted
