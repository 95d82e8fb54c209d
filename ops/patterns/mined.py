"""The patterns mined in several sets of sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Bools, Int32s, Int64s, Integers
from ops.patterns.sequences import Sequences


@dataclass(frozen=True)
class Mined:
    """The patterns of several sets, concatenated: set i has the patterns `offsets[i]` to `offsets[i + 1] - 1`.

    Each of these is `[n_patterns] int64`:

    Attributes:
        support, marked, documents: the number of the set's sentences that contain a pattern, the number of marked
            sentences among these, and the number of their documents.
        squares: the sum over these documents of the squared number of sentences that contain the pattern.
        products: the sum over these documents of the number of sentences that contain the pattern times the number of
            all the set's sentences in the document.
    """

    patterns: Sequences
    support: Int64s
    marked: Int64s
    documents: Int64s
    squares: Int64s
    products: Int64s
    offsets: Int64s

    @classmethod
    def grown(cls, parent: Sequence[Int64s], item: Sequence[Integers], counts: Sequence[Int64s]) -> Self:
        """Return the patterns of several sets that were grown by one item at a time.

        Each argument contains one array for each set.

        Args:
            parent: the index in the set of the pattern that each pattern extends, -1 for none, `[n]`.
            item: the item that each pattern adds, `[n]`.
            counts: each pattern's support, marked, documents, squares and products, `[n, 5]`.
        """
        offsets = np.cumsum([0, *map(len, parent)], dtype=np.int64)
        shifted = [np.where(own < 0, own, own + start) for own, start in zip(parent, offsets[:-1], strict=True)]
        none = np.zeros(0, np.int64)
        patterns = Sequences.from_parents(np.concatenate([none, *shifted]), np.concatenate([none, *item]))
        found = np.concatenate([np.zeros((0, 5), np.int64), *counts])
        support, marked, documents, squares, products = np.ascontiguousarray(found.T)
        return cls(patterns, support, marked, documents, squares, products, offsets)

    def where(self, keep: Bools) -> Self:
        """Return the patterns that `keep [n_patterns]` marks."""
        kept = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
        patterns = self.patterns.take(keep)
        every = (self.support, self.marked, self.documents, self.squares, self.products)
        support, marked, documents, squares, products = (count[keep] for count in every)
        return type(self)(patterns, support, marked, documents, squares, products, kept[self.offsets])


def by_document(sets: Sequences, documents: Int32s) -> Int32s:
    """Return the members of all sets, set by set, with those of one document adjacent."""
    number = np.repeat(np.arange(len(sets)), sets.lengths)
    return sets.items[np.lexsort((documents[sets.items], number))]
