"""How often the patterns mined in several sets of sentences occur, and in how many documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ops.arrays import Bools, Int32s, Int64s, Integers
from ops.patterns.sequences import Sequences

# The counts of a pattern, or of a value of a property, in a set of sentences:
#
# - support, marked, documents: the number of the set's sentences that have it, of marked sentences among these, and of
#   their documents.
# - squares: the sum over these documents of the squared number of sentences that have it.
# - products: the sum over these documents of the number of sentences that have it times the number of all the set's
#   sentences in the document.
COUNTS = np.dtype([(name, np.int64) for name in ("support", "marked", "documents", "squares", "products")])

Records = npt.NDArray[np.void]


def as_counts(columns: Int64s) -> Records:
    """Return counts `[n, 5]`, in the order of `COUNTS`, as records."""
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
    def grown(cls, parent: Sequence[Int64s], item: Sequence[Integers], counts: Sequence[Int64s]) -> Self:
        """Return the patterns of several sets that were grown by one item at a time.

        Each argument contains one array for each set.

        Args:
            parent: the index in the set of the pattern that each pattern extends, -1 for none, `[n]`.
            item: the item that each pattern adds, `[n]`.
            counts: each pattern's counts, in the order of `COUNTS`, `[n, 5]`.
        """
        offsets = np.cumsum([0, *map(len, parent)], dtype=np.int64)
        shifted = [np.where(own < 0, own, own + start) for own, start in zip(parent, offsets[:-1], strict=True)]
        none = np.zeros(0, np.int64)
        patterns = Sequences.from_parents(np.concatenate([none, *shifted]), np.concatenate([none, *item]))
        return cls(patterns, as_counts(np.concatenate([np.zeros((0, 5), np.int64), *counts])), offsets)

    def where(self, keep: Bools) -> Self:
        """Return the patterns that `keep [n_patterns]` marks."""
        kept = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
        return type(self)(self.patterns.take(keep), self.counts[keep], kept[self.offsets])


def by_document(sets: Sequences, documents: Int32s) -> Int32s:
    """Return the members of all sets, set by set, with those of one document adjacent."""
    number = np.repeat(np.arange(len(sets)), sets.lengths)
    return sets.items[np.lexsort((documents[sets.items], number))]
