"""What values a property has: counted over one set of sentences, or over many sets at once."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.mine.sentence_sets import sums_of_sets
from ops.patterns.mined import by_document
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences


@dataclass(frozen=True)
class ValueCounts:
    """How often each value of a property occurs: `count int64 [n_values]` out of `n`."""

    count: Int64s
    n: int


@dataclass(frozen=True)
class FoundValues:
    """The values of a property that occur.

    Attributes:
        value: they, ascending, `[found]`.
        count: how often each occurs, `[found]`.
        n: out of how many.
    """

    value: Int64s
    count: Int64s
    n: int

    @classmethod
    def of(cls, codes: Int32s, n_values: int, n: int) -> "FoundValues":
        """Count the codes, which are below `n_values`, in a time that does not grow with values that do not occur."""
        if n_values > len(codes):
            found, count = np.unique(codes, return_counts=True)
            return cls(found.astype(np.int64), count, n)
        every = np.bincount(codes, minlength=n_values)
        value = np.flatnonzero(every)
        return cls(value, every[value], n)


@dataclass(frozen=True)
class SetCounts:
    """How often values of a property occur in several sets, an entry for each that does.

    Attributes:
        offsets: set i has the entries `offsets[i]` to `offsets[i + 1] - 1`, in no order that means anything.
        value, count, marked: the value, how often it occurs, and how often in marked sentences, `[entries]`.
        documents: how many documents it occurs in, `[entries]`.
        n, marked_n: out of how many, `[sets]`.
    """

    offsets: Int64s
    value: Int64s
    count: Int64s
    marked: Int64s
    documents: Int64s
    n: Int64s
    marked_n: Int64s

    @property
    def set_of(self) -> Int64s:
        """The place of each entry's set, ascending."""
        return np.repeat(np.arange(len(self.n)), np.diff(self.offsets))


def count_in_sets(
    values: Sequences, sets: Sequences, marked: Bools, documents: Int32s, n_values: int, every_sentence: bool
) -> SetCounts:
    """Count the values of the members of each set.

    Args:
        values: those of each sentence, as often as they count, below `n_values`.
        sets: the members of each set, as places among the sentences.
        marked: the sentences that are counted apart too, `[sentences]`.
        documents: the code of each sentence's document, `[sentences]`.
        n_values: how many values there are.
        every_sentence: count out of all sentences, not out of all values that they have.
    """
    # numpy's zeros cost nothing until touched, which matters where millions of words are known but few occur.
    count, inside, seen, last = (np.zeros(n_values, np.int64) for _ in range(4))
    members = by_document(sets, documents)
    counted = _count_in_sets(
        values.items, values.offsets, members, sets.offsets, marked, documents, count, inside, seen, last
    )
    of_each = np.ones(len(values), np.int64) if every_sentence else values.lengths
    return SetCounts(*counted, sums_of_sets(of_each, sets), sums_of_sets(of_each * marked, sets))


def distinct_values(values: Sequences, n_values: int) -> Sequences:
    """Return each sentence's values, each once, in the order of their first place."""
    return values.where(_is_first(values.items, values.offsets, np.zeros(n_values, np.int32)))


def occurrences_of(values: Sequences, wanted: Int64s, n_values: int) -> Occurrences:
    """Return which sentences have each of the wanted values, `[wanted]`; each of a sentence's values is there once."""
    place = np.full(n_values, -1, np.int32)
    place[wanted] = np.arange(len(wanted))
    places = place[values.items]
    kept = values.where(places >= 0)
    value, sentence = places[places >= 0], np.repeat(np.arange(len(values), dtype=np.int32), kept.lengths)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(value, minlength=len(wanted)))))
    return Occurrences(sentence[np.argsort(value, kind="stable")], offsets.astype(np.int64))


@compiled
def _is_first(items: Int32s, offsets: Int64s, last: Int32s) -> Bools:
    """Tell which values have no equal before them in their sentence; `last [n_values]` is zero."""
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
    count: Int64s,
    inside: Int64s,
    seen: Int64s,
    last: Int64s,
) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s]:
    """Return each set's first entry, and of all the value, its count, marked count and documents.

    A document's members follow each other. The last four arguments, `[n_values]`, are zero, before and after.
    """
    entries = np.zeros(starts.size, np.int64)
    value, total, marked_total = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    in_documents = np.empty(1024, np.int64)
    found = 0
    for number in range(starts.size - 1):
        for entry in range(starts[number], starts[number + 1]):
            sentence = members[entry]
            mark = int(marked[sentence])
            for place in range(offsets[sentence], offsets[sentence + 1]):
                item = items[place]
                if count[item] == 0:
                    if found == value.size:
                        value, total = _longer(value), _longer(total)
                        marked_total, in_documents = _longer(marked_total), _longer(in_documents)
                    value[found] = item
                    found += 1
                count[item] += 1
                inside[item] += mark
                if last[item] != documents[sentence] + 1:
                    last[item] = documents[sentence] + 1
                    seen[item] += 1
        for index in range(entries[number], found):
            item = value[index]
            total[index], marked_total[index], in_documents[index] = count[item], inside[item], seen[item]
            count[item], inside[item], seen[item], last[item] = 0, 0, 0, 0
        entries[number + 1] = found
    return (
        entries,
        value[:found].copy(),
        total[:found].copy(),
        marked_total[:found].copy(),
        in_documents[:found].copy(),
    )


@compiled
def _longer(array: Int64s) -> Int64s:
    result = np.empty(2 * array.size, array.dtype)
    result[: array.size] = array
    return result
