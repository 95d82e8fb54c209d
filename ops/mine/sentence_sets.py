"""Sets of sentences that are processed together, such as the winners of many neurons."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ops.arrays import Bools, Int32s, Int64s, UInt8s, distinct
from ops.patterns.mined import FIRST_HALF, MARK
from ops.patterns.sequences import Sequences
from ops.sentences.folds import HALF
from ops.sentences.store import SentenceStore


@dataclass(frozen=True)
class SentenceSets:
    """Sets of sentences, many of which have sentences in common.

    Attributes:
        number: each set's number, ascending, `[sets]`.
        rows: the rows in the store of the sentences of all sets, distinct and ascending, `[sentences]`.
        members: each set's sentences, as indices into `rows`, ascending.
        in_baseline: whether each sentence is in the baseline, `[sentences]`.
        in_first_half: whether each sentence's document is in the first half of the documents, `[sentences]`.
        documents: the code of each sentence's document, `[sentences]`.
    """

    number: Int64s
    rows: Int64s
    members: Sequences
    in_baseline: Bools
    in_first_half: Bools
    documents: Int32s

    @classmethod
    def gather(cls, number: Int64s, sets: Sequences, store: SentenceStore) -> Self:
        """Return sets that are given as rows of the store, ascending in each."""
        rows, places = distinct(sets.items)
        members = Sequences(places.astype(np.int32), sets.offsets)
        baseline, first_half = np.asarray(store.baseline[rows], bool), np.asarray(store.fold[rows] < HALF)
        documents = np.asarray(store.doc[rows], np.int32)
        return cls(number, rows, members, baseline, first_half, documents)

    def __len__(self) -> int:
        return len(self.number)

    @property
    def sizes(self) -> Int64s:
        """The number of sentences of each set, `[sets]`."""
        return self.members.lengths

    @property
    def marks(self) -> UInt8s:
        """The marks with which each sentence is counted, `[sentences]`: that of the baseline, and of the first half."""
        return (MARK * self.in_baseline + FIRST_HALF * self.in_first_half).astype(np.uint8)

    @property
    def inside(self) -> Int64s:
        """The number of each set's sentences that are also in the baseline, `[sets]`."""
        return sums_of_sets(self.in_baseline, self.members)

    def document_sizes(self) -> tuple[Int64s, Int64s]:
        """Return each set's number of documents, and the sum of their squared numbers of sentences, each `[sets]`."""
        set_of = np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)
        # A set and a document as one number. The codes of documents count from 0.
        pairs = set_of << 32 | self.documents[self.members.items]
        each, sizes = np.unique(pairs, return_counts=True)
        starts = np.searchsorted(each, np.arange(len(self) + 1, dtype=np.int64) << 32)
        running = np.concatenate(([0], np.cumsum(sizes**2)))
        return np.diff(starts), np.diff(running[starts])

    def take(self, which: Int64s) -> Self:
        """Return some of the sets (indices, ascending)."""
        members = self.members.take(which)
        used, places = distinct(members.items)
        members = Sequences(places.astype(np.int32), members.offsets)
        of_each = self.in_baseline[used], self.in_first_half[used], self.documents[used]
        return type(self)(self.number[which], self.rows[used], members, *of_each)

    def chunks(self, most: int) -> Iterator[Self]:
        """Yield the sets in groups, in their order, with at most `most` members; a larger set is its own group."""
        for first, stop in spans_within(self.members.offsets, most):
            yield self if stop - first == len(self) else self.take(np.arange(first, stop))


def sums_of_sets(numbers: npt.ArrayLike, sets: Sequences) -> Int64s:
    """Return the sum over the members of each set of integers given for each sentence, `[sets]`."""
    running = np.concatenate(([0], np.cumsum(np.asarray(numbers)[sets.items], dtype=np.int64)))
    return np.diff(running[sets.offsets])


def spans_within(offsets: Int64s, most: int) -> Iterator[tuple[int, int]]:
    """Yield (first, stop) of groups of consecutive sets with at most `most` entries, given their `offsets [sets + 1]`.

    A set with more entries is its own group.

    >>> list(spans_within(np.array([0, 2, 3, 9, 10]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    first = 0
    while first < len(offsets) - 1:
        stop = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        stop = max(stop, first + 1)
        yield first, stop
        first = stop


def row_groups(table: pa.Table, neuron: Int64s, limit: int) -> Iterator[pa.Table]:
    """Yield a table as row groups of at most `limit` rows, without splitting a neuron.

    A neuron with more rows than that is its own row group. `neuron [rows]` ascends.

    >>> rows = pa.table({"neuron": [0] * 2 + [1] * 3 + [2] * 9 + [3]})
    >>> [group.num_rows for group in row_groups(rows, rows["neuron"].to_numpy(), 5)]
    [5, 9, 1]
    """
    starts = np.append(np.flatnonzero(np.diff(neuron, prepend=-1)), len(neuron))
    for first, stop in spans_within(starts, limit):
        yield table.slice(starts[first], starts[stop] - starts[first])
