"""The values of a property: counted over one set of sentences, or over many sets at once."""

from dataclasses import dataclass, field

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.mine.sentence_sets import sums_of_sets
from ops.patterns.mined import by_document
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences


@dataclass(frozen=True)
class ValueCounts:
    """How often each value of a property occurs: `count int64 [n_values]` out of `n`.

    `squares` and `products [n_values]` and `n_squares` are those of `SetCounts`. They are not counted for a property
    whose rare values are omitted.
    """

    count: Int64s
    n: int
    squares: Int64s
    products: Int64s
    n_squares: int


@dataclass(frozen=True)
class FoundValues:
    """The values of a property that occur.

    Attributes:
        value: the values, ascending, `[found]`.
        count: how often each value occurs, `[found]`.
        n: the total, out of which values are counted.
        squares, products: as in `SetCounts`, `[found]`; empty if documents are ignored.
        n_squares: as in `SetCounts`; 0 if documents are ignored.
    """

    value: Int64s
    count: Int64s
    n: int
    squares: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    products: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    n_squares: int = 0

    @classmethod
    def of(cls, codes: Int32s, n_values: int, n: int) -> "FoundValues":
        """Count the codes, which are below `n_values`, in time independent of the values that do not occur."""
        if n_values > len(codes):
            found, count = np.unique(codes, return_counts=True)
            return cls(found.astype(np.int64), count, n)
        every = np.bincount(codes, minlength=n_values)
        value = np.flatnonzero(every)
        return cls(value, every[value], n)

    @classmethod
    def by_document(cls, values: Sequences, documents: Int32s, n_values: int, every_sentence: bool) -> "FoundValues":
        """Count values, including the sums over documents, in one set of all sentences.

        The arguments are those of `count_in_sets`.
        """
        sentences = len(values)
        found = count_in_sets(
            values, Sequences.of_all(sentences), np.zeros(sentences, bool), documents, n_values, every_sentence
        )
        order = np.argsort(found.value)
        columns = (column[order] for column in (found.value, found.count, found.squares, found.products))
        value, count, squares, products = columns
        return cls(value, count, int(found.n[0]), squares, products, int(found.n_squares[0]))


@dataclass(frozen=True)
class SetCounts:
    """How often values of a property occur in several sets, with an entry for each set and value that occurs in it.

    Attributes:
        offsets: set i has the entries `offsets[i]` to `offsets[i + 1] - 1`, in arbitrary order.
        value, count, marked: the value, how often it occurs, and how often in marked sentences, `[entries]`.
        documents: number of documents in which it occurs, `[entries]`.
        squares: the sum over these documents of the square of its count, `[entries]`.
        products: the sum over them of its count times the document's total, `[entries]`.
        n, marked_n: the totals, `[sets]`.
        n_documents, n_squares: the number of documents of these totals, and the sum of their squares, `[sets]`.
    """

    offsets: Int64s
    value: Int64s
    count: Int64s
    marked: Int64s
    documents: Int64s
    squares: Int64s
    products: Int64s
    n: Int64s
    marked_n: Int64s
    n_documents: Int64s
    n_squares: Int64s

    @property
    def set_of(self) -> Int64s:
        """The index of each entry's set, ascending."""
        return np.repeat(np.arange(len(self.n)), np.diff(self.offsets))


def count_in_sets(
    values: Sequences, sets: Sequences, marked: Bools, documents: Int32s, n_values: int, every_sentence: bool
) -> SetCounts:
    """Count the values of the members of each set.

    Args:
        values: the values of each sentence, below `n_values`, each repeated as often as it counts.
        sets: the members of each set, as indices of sentences.
        marked: the sentences that are also counted separately, `[sentences]`.
        documents: the code of each sentence's document, `[sentences]`.
        n_values: number of values.
        every_sentence: whether the total is the number of sentences, and not the number of all their values.
    """
    # numpy's zeros cost nothing until touched, which matters if millions of words are known but few occur.
    of_value = np.zeros((n_values, 8), np.int64)
    members = by_document(sets, documents)
    of_each = np.ones(len(values), np.int64) if every_sentence else values.lengths
    entries, counted, sizes = _count_in_sets(
        values.items, values.offsets, members, sets.offsets, marked, documents, of_each, of_value
    )
    n, marked_n = sums_of_sets(of_each, sets), sums_of_sets(of_each * marked, sets)
    value, count, inside, in_documents, squares, products = counted
    n_documents, n_squares = sizes.T.copy()
    return SetCounts(
        entries, value, count, inside, in_documents, squares, products, n, marked_n, n_documents, n_squares
    )


def distinct_values(values: Sequences, n_values: int) -> Sequences:
    """Return each sentence's distinct values, in the order of their first occurrence."""
    return values.where(_is_first(values.items, values.offsets, np.zeros(n_values, np.int32)))


def occurrences_of(values: Sequences, wanted: Int64s, n_values: int) -> Occurrences:
    """Return which sentences have each requested value, `[wanted]`. A sentence must contain each value at most once."""
    place = np.full(n_values, -1, np.int32)
    place[wanted] = np.arange(len(wanted))
    places = place[values.items]
    kept = values.where(places >= 0)
    value, sentence = places[places >= 0], np.repeat(np.arange(len(values), dtype=np.int32), kept.lengths)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(value, minlength=len(wanted)))))
    return Occurrences(sentence[np.argsort(value, kind="stable")], offsets.astype(np.int64))


@compiled
def _is_first(items: Int32s, offsets: Int64s, last: Int32s) -> Bools:
    """Return which values do not occur earlier in their sentence; `last [n_values]` is scratch space of zeros."""
    result = np.zeros(items.size, np.bool_)
    for sentence in range(offsets.size - 1):
        for place in range(offsets[sentence], offsets[sentence + 1]):
            result[place] = last[items[place]] != sentence + 1
            last[items[place]] = sentence + 1
    return result


@compiled
def _count_in_sets(
    items: Int32s,
    offsets: Int64s,
    members: Int32s,
    starts: Int64s,
    marked: Bools,
    documents: Int32s,
    of_each: Int64s,
    of_value: Int64s,
) -> tuple[Int64s, Int64s, Int64s]:
    """Return each set's first entry, the columns of all entries `[6, entries]`, and the sets' documents `[sets, 2]`.

    The members of a document must be adjacent. `of_value [n_values, 8]` is scratch space that must be zero, and is zero
    again afterwards. For each value it contains the columns from the count on, the document in which the value occurred
    last, and how often it occurred there.
    """
    entries, sizes = np.zeros(starts.size, np.int64), np.zeros((starts.size - 1, 2), np.int64)
    columns = np.empty((1024, 6), np.int64)
    found = 0
    for number in range(starts.size - 1):
        document, size, stop = -1, 0, starts[number]
        for entry in range(starts[number], starts[number + 1]):
            sentence = members[entry]
            if entry == stop:
                document, size = documents[sentence], 0
                while stop < starts[number + 1] and documents[members[stop]] == document:
                    size += of_each[members[stop]]
                    stop += 1
                sizes[number, 0] += int(size > 0)
                sizes[number, 1] += size * size
            mark = int(marked[sentence])
            for place in range(offsets[sentence], offsets[sentence + 1]):
                item = items[place]
                own = of_value[item]
                if own[0] == 0:
                    if found == columns.shape[0]:
                        longer = np.empty((2 * found, 6), np.int64)
                        longer[:found] = columns
                        columns = longer
                    columns[found, 0] = item
                    found += 1
                own[0] += 1
                own[1] += mark
                if own[5] != document + 1:
                    own[5] = document + 1
                    own[2] += 1
                    own[6] = 0
                own[3] += 2 * own[6] + 1
                own[4] += size
                own[6] += 1
        for index in range(entries[number], found):
            own = of_value[columns[index, 0]]
            for which in range(5):
                columns[index, which + 1] = own[which]
            own[:] = 0
        entries[number + 1] = found
    return entries, columns[:found].T.copy(), sizes
