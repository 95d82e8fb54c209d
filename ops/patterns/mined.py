"""How often the patterns mined in several sets of sentences occur, and in how many documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ops.arrays import Arrays, Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.sequences import Sequences

# The counts of a pattern, or of a value of a property, in a set of sentences:
#
# - support, marked, documents: the number of the set's sentences that have it, of marked sentences among these, and of
#   their documents.
# - half, half_marked: the number of these sentences, and of marked ones among them, in the first half of the documents.
# - squares: the sum over these documents of the squared number of sentences that have it.
# - products: the sum over these documents of the number of sentences that have it times the number of all the set's
#   sentences in the document.
COUNTS = np.dtype(
    [(name, np.int64) for name in ("support", "marked", "half", "half_marked", "documents", "squares", "products")]
)

# While sentences are counted, the counts of each code are a row of integers: `COUNTS`, the stamps of the sentence and
# of the document in which it occurred last, and its count in that document.
SUPPORT, MARKED, HALF, HALF_MARKED, DOCUMENTS, SQUARES, PRODUCTS, SEEN, DOCUMENT, WITHIN = range(10)
KEPT, COLUMNS = 7, 10
GROWN = 2 + KEPT  # what the miners return of a pattern, as `Mined.grown` takes it

# The marks of a sentence, which are added: it is counted separately, and its document is in the first half.
MARK, FIRST_HALF = 1, 2

NEVER = np.iinfo(np.int64).max  # a minimum support that no pattern reaches


Records = npt.NDArray[np.void]


def as_counts(columns: Int64s) -> Records:
    """Return counts `[n, 7]`, in the order of `COUNTS`, as records."""
    return np.ascontiguousarray(columns).view(COUNTS)[:, 0]


@dataclass(frozen=True)
class Mined:
    """The patterns of several sets, concatenated: set i has the patterns `offsets[i]` to `offsets[i + 1] - 1`.

    Attributes:
        patterns: the patterns.
        counts: the `COUNTS` of each pattern in its set, `[n_patterns]`.
        offsets: where each set's patterns start, `[sets + 1]`.
    """

    patterns: Sequences
    counts: Records
    offsets: Int64s

    @classmethod
    def grown(cls, parts: Sequence[Int64s]) -> Self:
        """Return the patterns of several sets that were grown by one item at a time.

        Each part `[n, 9]` has for each pattern of a set the index in the set of the pattern that it extends, -1 for
        none, the item that it adds, and its counts in the order of `COUNTS`.
        """
        offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        rows = np.concatenate([np.zeros((0, GROWN), np.int64), *parts])
        parent = np.where(rows[:, 0] < 0, -1, rows[:, 0] + np.repeat(offsets[:-1], np.diff(offsets)))
        return cls(Sequences.from_parents(parent, rows[:, 1].copy()), as_counts(rows[:, 2:]), offsets)

    def where(self, keep: Bools) -> Self:
        """Return the patterns that `keep [n_patterns]` marks."""
        kept = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
        return type(self)(self.patterns.take(keep), self.counts[keep], kept[self.offsets])


@compiled
def count_once(counts: Int64s, code: int, mark: int, document: int, size: int) -> None:
    """Count a code once in its row of `counts [codes, COLUMNS]`.

    Args:
        counts, code: all counts, and the code.
        mark: the marks of the sentence.
        document: a stamp of the document, which differs from that of the document before.
        size: how much the document contains in all.
    """
    counts[code, SUPPORT] += 1
    counts[code, MARKED] += mark & 1
    counts[code, HALF] += mark >> 1
    counts[code, HALF_MARKED] += mark >> 1 & mark
    if counts[code, DOCUMENT] != document:
        counts[code, DOCUMENT] = document
        counts[code, DOCUMENTS] += 1
        counts[code, WITHIN] = 0
    counts[code, SQUARES] += 2 * counts[code, WITHIN] + 1
    counts[code, PRODUCTS] += size
    counts[code, WITHIN] += 1


@compiled
def is_frequent(counts: Int64s, code: int, least: Int64s) -> bool:
    """Return whether a code reaches one of the minimum supports `least [3]`: in the set, its first half, its second."""
    support, half = counts[code, SUPPORT], counts[code, HALF]
    return bool(support >= least[0] or half >= least[1] or support - half >= least[2])


@compiled
def longer(array: Arrays, size: int) -> Arrays:
    """Return an array with room for at least `size` rows, and for twice as many as before, that begins with `array`."""
    result = np.empty((max(2 * len(array), size),) + array.shape[1:], array.dtype)  # noqa: RUF005
    result[: len(array)] = array
    return result


def document_sizes(documents: Int32s) -> Int64s:
    """Return the number of sentences of each sentence's document, `[n]`; those of one document are adjacent."""
    sizes = np.diff(np.flatnonzero(np.diff(documents, prepend=-1, append=-1)))
    return np.repeat(sizes, sizes)


def by_document(sets: Sequences, documents: Int32s) -> Int32s:
    """Return the members of all sets, set by set, with those of one document adjacent."""
    number = np.repeat(np.arange(len(sets)), sets.lengths)
    return sets.items[np.lexsort((documents[sets.items], number))]
