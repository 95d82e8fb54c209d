"""The strata of winners: sentences of the same data set and of similar length, and how many of them have an item."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Float64s, Int32s, Int64s
from ops.compiled import compiled
from ops.mine.held_out_sets import WIDTHS
from ops.patterns.sequences import Sequences
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
    """The strata of a set of winners, S in all.

    A winner's stratum has its data set and its length in words. If fewer than 50 baseline sentences of it are not
    winners, the lengths are those of the same bucket of 2, 4, 8 or 16 words, as in `ops.mine.held_out_sets`, or else
    all of the data set. The stratum has these baseline sentences and the set's winners among them, each once.

    Attributes:
        of: the index of each winner's stratum, `[winners]`.
        cell: the cell of each winner, `[winners]`.
        further: which winners are not in the baseline, `[winners]`.
        sizes: number of sentences of each stratum, `[S]`.
        containing: the strata that contain each cell.
    """

    of: Int64s
    cell: Int64s
    further: Bools
    sizes: Int64s
    containing: Sequences

    @classmethod
    def make(cls, cells: Cells, rows: Int64s, in_baseline: Bools) -> "Strata":
        """Return the strata of winners, given their rows and which of them are in the baseline."""
        cell = cells.of(rows)
        won = np.concatenate(([0], np.cumsum(np.bincount(cell[in_baseline], minlength=cells.size))))
        beyond = np.concatenate(([0], np.cumsum(np.bincount(cell[~in_baseline], minlength=cells.size))))
        own, which = np.unique(cell, return_inverse=True)
        dataset = own // cells.per_dataset * cells.per_dataset
        first, stop = np.zeros_like(own), np.zeros_like(own)
        is_open = np.ones(len(own), np.bool_)
        for width in WIDTHS.tolist():
            begin = dataset + (own - dataset) // width * width
            end = np.minimum(begin + width, dataset + cells.per_dataset)
            first[is_open], stop[is_open] = begin[is_open], end[is_open]
            others = (cells.before - won)[end] - (cells.before - won)[begin]
            is_open &= others < LEAST_OTHERS
        ranges, stratum = np.unique(np.stack((first, stop)), axis=1, return_inverse=True)
        both = cells.before + beyond
        sizes = both[ranges[1]] - both[ranges[0]]
        containing = Sequences(*_containing(ranges[0], ranges[1], cells.size))
        return cls(np.asarray(stratum).ravel()[which], cell, ~in_baseline, sizes, containing)

    @property
    def winners(self) -> Int64s:
        """Number of winners whose stratum each is, `[S]`."""
        return np.bincount(self.of, minlength=len(self.sizes))

    def expected(self, counts: "CellCounts", items: Int64s, having: Sequences) -> Float64s:
        """Return the expected number of winners with each item, `[items]`, given the arguments of `count`."""
        of_each = self.winners / self.sizes
        lists = self.containing
        cells = np.repeat(np.arange(len(lists)), lists.lengths)
        of_cell = np.bincount(cells, of_each[lists.items], minlength=len(lists)).astype(np.float64)
        return _expected(self._given(counts, items, having), of_cell)

    def count(self, counts: "CellCounts", items: Int64s, having: Sequences) -> Float64s:
        """Return how many sentences of each stratum have each item, `[items, S]`.

        Args:
            counts: the counts of items in the baseline.
            items: the rows of the items in `counts`; -1 for an item that no baseline sentence has.
            having: the winners that have each item.
        """
        return _count(self._given(counts, items, having), len(self.sizes))

    def _given(self, counts: "CellCounts", items: Int64s, having: Sequences) -> "_Given":
        return (
            items, counts.starts, counts.cell, counts.count, having.items, having.offsets, self.further, self.cell,
            self.containing.offsets, self.containing.items,
        )  # fmt: skip


@dataclass(frozen=True)
class CellCounts:
    """How many baseline sentences of each cell have each item, where any has it.

    Attributes:
        starts: item i has the entries `starts[i]` to `starts[i + 1]`, `[items + 1]`.
        cell, count: the cell and the number of sentences of each entry, `[entries]`.
    """

    starts: Int64s
    cell: Int32s
    count: Int32s

    @classmethod
    def of(cls, item: Int64s, cell: Int64s, count: Int64s, items: int) -> "CellCounts":
        """Return the counts of entries that ascend by item."""
        starts = np.concatenate(([0], np.cumsum(np.bincount(item, minlength=items))))
        return cls(starts, cell.astype(np.int32), count.astype(np.int32))

    def then(self, other: "CellCounts") -> "CellCounts":
        """Return these items and then those of `other`."""
        return CellCounts(
            np.concatenate((self.starts, self.starts[-1] + other.starts[1:])),
            np.concatenate((self.cell, other.cell)), np.concatenate((self.count, other.count)),
        )  # fmt: skip


@compiled
def _containing(first: Int64s, stop: Int64s, cells: int) -> tuple[Int32s, Int64s]:
    """Return the strata that contain each cell, and where those of each cell begin."""
    starts = np.zeros(cells + 1, np.int64)
    for stratum in range(first.size):
        for cell in range(first[stratum], stop[stratum]):
            starts[cell + 1] += 1
    for cell in range(cells):
        starts[cell + 1] += starts[cell]
    strata, free = np.empty(starts[cells], np.int32), starts.copy()
    for stratum in range(first.size):
        for cell in range(first[stratum], stop[stratum]):
            strata[free[cell]] = stratum
            free[cell] += 1
    return strata, starts


# The items, their counts in the baseline, the winners that have each item, and the strata that contain each cell.
_Given = tuple[Int64s, Int64s, Int32s, Int32s, Int32s, Int64s, Bools, Int64s, Int64s, Int32s]


@compiled
def _add(given: _Given, index: int, own: Float64s) -> None:
    """Add the number of baseline sentences and further winners of each stratum with one item to `own [S]`."""
    items, starts, cells, counts, having, offsets, further, cell_of, begin, strata = given
    item = items[index]
    if item >= 0:
        for entry in range(starts[item], starts[item + 1]):
            for place in range(begin[cells[entry]], begin[cells[entry] + 1]):
                own[strata[place]] += counts[entry]
    for entry in range(offsets[index], offsets[index + 1]):
        if further[having[entry]]:
            cell = cell_of[having[entry]]
            for place in range(begin[cell], begin[cell + 1]):
                own[strata[place]] += 1


@compiled
def _count(given: _Given, size: int) -> Float64s:
    result = np.zeros((given[0].size, size))
    for index in range(given[0].size):
        _add(given, index, result[index])
    return result


@compiled
def _expected(given: _Given, of_cell: Float64s) -> Float64s:
    """Return the sum of `of_cell` over the baseline sentences and further winners that have each item, `[items]`."""
    items, starts, cells, counts, having, offsets, further, cell_of, _, _ = given
    expected = np.zeros(items.size)
    for index in range(items.size):
        item = items[index]
        if item >= 0:
            for entry in range(starts[item], starts[item + 1]):
                expected[index] += of_cell[cells[entry]] * counts[entry]
        for entry in range(offsets[index], offsets[index + 1]):
            if further[having[entry]]:
                expected[index] += of_cell[cell_of[having[entry]]]
    return expected
