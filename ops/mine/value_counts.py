"""The values of a property, counted in several sets of sentences at once."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.mine.sentence_sets import sums_of_sets
from ops.patterns.mined import COLUMNS, KEPT, SUPPORT, Records, as_counts, by_document, count_once, longer
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences


@dataclass(frozen=True)
class ValueCounts:
    """How often values of a property occur in several sets, with an entry for each set and value that occurs in it.

    Attributes:
        set_of: the index of each entry's set, ascending, `[entries]`.
        value, counts: the value, and its `ops.patterns.mined.COUNTS` in the set, `[entries]`. Those of a half are
            not counted.
        n, marked_n: the totals out of which values are counted, `[sets]`.
        n_documents, n_squares: the number of documents of these totals, and the sum of their squares, `[sets]`.
    """

    set_of: Int64s
    value: Int64s
    counts: Records
    n: Int64s
    marked_n: Int64s
    n_documents: Int64s
    n_squares: Int64s


def count_in_sets(
    values: Sequences, sets: Sequences, marked: Bools, documents: Int32s, n_values: int, every_sentence: bool
) -> ValueCounts:
    """Count the values of the members of each set.

    Args:
        values: the values of each sentence, below `n_values`, each repeated as often as it counts.
        sets: the members of each set, as indices of sentences.
        marked: the sentences that are also counted separately, `[sentences]`.
        documents: the code of each sentence's document, `[sentences]`.
        every_sentence: whether the total is the number of sentences, and not the number of all their values.
    """
    # numpy's zeros cost nothing until touched, which matters if millions of words are known but few occur.
    of_value = np.zeros((n_values, COLUMNS), np.int64)
    members = by_document(sets, documents)
    of_each = np.ones(len(values), np.int64) if every_sentence else values.lengths
    entries, columns, sizes = _count_in_sets(
        values.items, values.offsets, members, sets.offsets, marked, documents, of_each, of_value
    )
    totals = (sums_of_sets(of_each, sets), sums_of_sets(of_each * marked, sets), *sizes.T.copy())
    set_of = np.repeat(np.arange(len(sets)), np.diff(entries))
    return ValueCounts(set_of, columns[:, 0].copy(), as_counts(columns[:, 1:]), *totals)


def distinct_values(values: Sequences, n_values: int) -> Sequences:
    """Return each sentence's distinct values, in the order of their first occurrence."""
    return values.where(_is_first(values.items, values.offsets, np.zeros(n_values, np.int32)))


def occurrences_of(values: Sequences, wanted: Int64s, n_values: int) -> Occurrences:
    """Return which sentences have each requested value, `[wanted]`. A sentence must contain each value at most once."""
    index_of = np.full(n_values, -1, np.int32)
    index_of[wanted] = np.arange(len(wanted))
    index = index_of[values.items]
    kept = values.where(index >= 0)
    value, sentence = index[index >= 0], np.repeat(np.arange(len(values), dtype=np.int32), kept.lengths)
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
    items: Int32s, offsets: Int64s, members: Int32s, starts: Int64s, marked: Bools, documents: Int32s, of_each: Int64s,
    of_value: Int64s,
) -> tuple[Int64s, Int64s, Int64s]:  # fmt: skip
    """Return each set's first entry, each entry's value and counts `[entries, 8]`, and the sets' documents `[sets, 2]`.

    The members of a document must be adjacent. `of_value [n_values, 10]` is scratch space that must be zero, and is
    zero again afterwards.
    """
    entries, sizes = np.zeros(starts.size, np.int64), np.zeros((starts.size - 1, 2), np.int64)
    columns = np.empty((1024, 1 + KEPT), np.int64)
    n = 0
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
            for position in range(offsets[sentence], offsets[sentence + 1]):
                item = items[position]
                if of_value[item, SUPPORT] == 0:
                    if n == columns.shape[0]:
                        columns = longer(columns, n + 1)
                    columns[n, 0] = item
                    n += 1
                count_once(of_value, item, mark, document + 1, size)
        for index in range(entries[number], n):
            counts = of_value[columns[index, 0]]
            for which in range(KEPT):
                columns[index, which + 1] = counts[which]
            counts[:] = 0
        entries[number + 1] = n
    return entries, columns[:n].copy(), sizes
