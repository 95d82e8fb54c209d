"""The strata of winners: sentences of the same data set and of similar length, and how many of them have an item."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ops.arrays import Bools, Float64s, Int32s, Int64s, Integers
from ops.compiled import compiled
from ops.mine.held_out_sets import WIDTHS
from ops.sentences.store import SentenceStore

LEAST_OTHERS = 50  # baseline sentences of a stratum that are not winners


class Cells:
    """Numbers the cells of a data set and a length in words, those of a data set one after the other.

    Args:
        store: the sentences.
        baseline: the rows of the baseline.

    Attributes:
        size: number of cells.
        before: number of baseline sentences in the cells before each cell, and in all cells, `[cells + 1]`.
    """

    def __init__(self, store: SentenceStore, baseline: Int64s) -> None:
        self._store, self.per_dataset = store, store.longest + 1
        self.size = (int(np.asarray(store.dataset).max(initial=-1)) + 1) * self.per_dataset
        self.before = np.concatenate(([0], np.cumsum(np.bincount(self.of(baseline), minlength=self.size))))

    def of(self, rows: Int64s) -> Int64s:
        """Return the cell of each row."""
        dataset = self._store.dataset[rows].astype(np.int64)
        return np.asarray(dataset * self.per_dataset + self._store.lengths(rows))


@dataclass(frozen=True)
class Strata:
    """The strata of a set of winners, one for each cell of a winner, S in all.

    A winner's stratum has its data set and its length in words. If fewer than 50 baseline sentences of it are not
    winners, the lengths are those of the same bucket of 2, 4, 8 or 16 words, as in `ops.mine.held_out_sets`, or else
    all of the data set. The stratum has these baseline sentences and the set's winners among them, each once.

    Attributes:
        of: the index of each winner's stratum, `[winners]`.
        first, stop: the cells of each stratum, which are adjacent, `[S]`.
        sizes: number of sentences of each stratum, `[S]`.
        further: the winners that are not in the baseline, by index.
        of_further: which strata contain each of these winners, `[further, S]`.
    """

    of: Int64s
    first: Int64s
    stop: Int64s
    sizes: Int64s
    further: Int64s
    of_further: Bools

    @classmethod
    def make(cls, cells: Cells, rows: Int64s, in_baseline: Bools) -> "Strata":
        """Return the strata of winners, given their rows and which of them are in the baseline."""
        cell, further = cells.of(rows), np.flatnonzero(~in_baseline)
        won = np.concatenate(([0], np.cumsum(np.bincount(cell[in_baseline], minlength=cells.size))))
        beyond = np.concatenate(([0], np.cumsum(np.bincount(cell[further], minlength=cells.size))))
        winner_cells, which = np.unique(cell, return_inverse=True)
        dataset = winner_cells // cells.per_dataset * cells.per_dataset
        first, stop = np.zeros_like(winner_cells), np.zeros_like(winner_cells)
        is_open = np.ones(len(winner_cells), np.bool_)
        for width in WIDTHS.tolist():
            begin = dataset + (winner_cells - dataset) // width * width
            end = np.minimum(begin + width, dataset + cells.per_dataset)
            first[is_open], stop[is_open] = begin[is_open], end[is_open]
            others = (cells.before - won)[end] - (cells.before - won)[begin]
            is_open &= others < LEAST_OTHERS
            if not is_open.any():
                break
        both, beyond_baseline = cells.before + beyond, cell[further][:, None]
        of_further = (first <= beyond_baseline) & (beyond_baseline < stop)
        return cls(which, first, stop, both[stop] - both[first], further, of_further)

    def count(self, counts: csr_array, rows: Int64s, has: Bools) -> Float64s:
        """Return how many sentences of each stratum have each of some items, `[items, S]`.

        Args:
            counts: how many baseline sentences of each cell have each item, `[all items, cells]`, with sorted indices.
            rows: the row of each of these items in `counts`, `[items]`.
            has: which winners have each of them, `[items, winners]`.
        """
        ends = np.unique(np.concatenate((self.first, self.stop)))
        ranges = np.searchsorted(ends, self.first), np.searchsorted(ends, self.stop)
        sums = _count(counts.indptr, counts.indices, counts.data, rows, ends, *ranges)
        if len(self.further):
            sums += has[:, self.further].astype(np.float64) @ self.of_further
        return sums


@compiled
def _count(
    starts: Integers, cells: Integers, counts: Int32s, rows: Int64s, ends: Int64s, first: Int64s, stop: Int64s
) -> Float64s:  # fmt: skip
    """Return sums of the counts of some rows of a sparse matrix over ranges of its columns, `[rows, ranges]`.

    Range i has the columns from `ends[first[i]]` up to but excluding `ends[stop[i]]`. The columns of each row are
    ascending. The time does not depend on the number of columns, which a single long sentence makes large.
    """
    sums = np.empty((rows.size, first.size))
    before = np.zeros(ends.size + 1)  # the sum of the columns below each end, and of all
    for number, row in enumerate(rows):
        before[:] = 0
        index = 0
        for pair in range(starts[row], starts[row + 1]):
            while index < ends.size and ends[index] <= cells[pair]:
                index += 1
            before[index] += counts[pair]
        for index in range(ends.size):
            before[index + 1] += before[index]
        for span in range(first.size):
            sums[number, span] = before[stop[span]] - before[first[span]]
    return sums
