"""Sequences of integer codes, concatenated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Int32s, Int64s, Integers
from ops.compiled import compiled


@dataclass(frozen=True)
class Sequences:
    """Sentences as codes of words or tags: `items int32 [n_items]` and `offsets int64 [n_sentences + 1]`.

    Sentence i is `items[offsets[i]:offsets[i + 1]]`; codes count from 0. Patterns are stored in the same way.

    >>> Sequences.from_lists([[3, 1], [], [2]]).offsets.tolist()
    [0, 2, 2, 3]
    """

    items: Int32s
    offsets: Int64s

    def __post_init__(self) -> None:
        if self.offsets.size == 0 or self.offsets[0] != 0 or self.offsets[-1] != self.items.size:
            raise ValueError("sequences: offsets must begin with 0 and end with the number of items")

    @classmethod
    def from_lists(cls, lists: Iterable[Sequence[int] | Integers]) -> Self:
        """Return the sequences of the lists or arrays, in their order."""
        rows = [np.asarray(row, np.int32) for row in lists]
        return cls(np.concatenate([np.zeros(0, np.int32), *rows]), np.cumsum([0, *map(len, rows)], dtype=np.int64))

    @classmethod
    def of_all(cls, n: int) -> Self:
        """Return one sequence of the numbers from 0 to n - 1, which is the set of all of `n` sentences, by index."""
        return cls(np.arange(n, dtype=np.int32), np.array([0, n], np.int64))

    @classmethod
    def at_most_one(cls, codes: Integers) -> Self:
        """Return sentences with at most one item, given the code of each; -1 means none.

        >>> Sequences.at_most_one(np.array([3, -1])).to_lists()
        [[3], []]
        """
        return cls(np.asarray(codes, np.int32), np.arange(len(codes) + 1)).where(codes >= 0)

    @classmethod
    def from_parents(cls, parent: Int64s, item: Int64s) -> Self:
        """Return patterns that were grown by one item at a time: each is an earlier pattern followed by its `item [n]`.

        `parent [n]` is the index of the earlier pattern, -1 for none.

        >>> Sequences.from_parents(np.array([-1, 0, 0]), np.array([7, 8, 9])).to_lists()
        [[7], [7, 8], [7, 9]]
        """
        return cls(*_from_parents(parent, item))

    @classmethod
    def concatenate(cls, parts: Sequence["Sequences"]) -> Self:
        """Return the sequences of all parts, one part after the other."""
        lengths = [np.zeros(1, np.int64), *(part.lengths for part in parts)]
        items = [np.zeros(0, np.int32), *(part.items for part in parts)]
        return cls(np.concatenate(items), np.cumsum(np.concatenate(lengths)))

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def lengths(self) -> Int64s:
        """The number of items of each sentence, `[n_sentences] int64`."""
        return np.diff(self.offsets)

    def to_lists(self) -> list[list[int]]:
        """Return the sentences as lists of codes."""
        items, ends = self.items.tolist(), self.offsets.tolist()
        return [items[start:stop] for start, stop in pairwise(ends)]

    def to_arrays(self) -> list[Int32s]:
        """Return the sentences as arrays of codes."""
        return np.split(self.items, self.offsets[1:-1]) if len(self) else []

    def take(self, rows: ArrayLike) -> Self:
        """Return some sentences, selected by indices, whose order is kept, or by one bool for each sentence."""
        chosen = np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        # Few of very many sentences may be taken, so the time must not depend on the number of all sentences.
        starts = self.offsets[:-1][chosen]
        lengths = self.offsets[1:][chosen] - starts
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        source = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return type(self)(self.items[source], offsets)

    def where(self, keep: ArrayLike) -> Self:
        """Return the sentences with only the items that `keep bool [n_items]` marks, without gaps in their place."""
        mask = np.asarray(keep, dtype=bool)
        kept = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))
        return type(self)(self.items[mask], kept[self.offsets])


@compiled
def _from_parents(parent: Int64s, item: Int64s) -> tuple[Int32s, Int64s]:
    offsets = np.zeros(parent.size + 1, np.int64)
    for pattern in range(parent.size):
        above = parent[pattern]
        length = 1 if above < 0 else offsets[above + 1] - offsets[above] + 1
        offsets[pattern + 1] = offsets[pattern] + length
    items = np.empty(offsets[-1], np.int32)
    for pattern in range(parent.size):
        node = pattern
        for place in range(offsets[pattern + 1] - 1, offsets[pattern] - 1, -1):
            items[place] = item[node]
            node = parent[node]
    return items, offsets
