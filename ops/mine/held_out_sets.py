"""Sets of sentences for the held-out areas under the ROC curve: random, matched, and similar to the winners."""

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from ops.arrays import Bools, Int32s, Int64s, Integers
from ops.compiled import compiled
from ops.patterns.sequences import Sequences
from ops.sampling import draw
from ops.sentences.store import SentenceStore

# The sets scored for each neuron and pole: its winners, a set matched to them, and a random one.
SETS = ("own", "matched", "random")

# One number for each kind of draw, so that no two kinds share a random stream.
RANDOM, MATCHED, OTHERS = range(101, 104)
WIDTHS = np.array([1, 2, 4, 8, 16, 1 << 30])  # of the buckets of similar lengths, in words


class HeldOutSets:
    """Draws the sets on which neurons are scored from annotated sentences, with a seed."""

    def __init__(self, store: SentenceStore, seed: int) -> None:
        self._seed, self._baseline = seed, np.flatnonzero(store.baseline)
        self._matcher = Matcher(self._baseline, np.asarray(store.dataset), store.lengths, store.longest)

    def draw(self, number: Int64s, winners: Sequences) -> Sequences:
        """Return the rows of each of `SETS` for each neuron and pole, given by set number `[n]`, ascending in each."""
        sets: list[Integers] = []
        for own_number, own in zip(number.tolist(), winners.to_arrays(), strict=True):
            sets += [own, self.matched(own), self.random(len(own), own_number)]
        return Sequences.from_lists(sets)

    def matched(self, winners: Integers) -> Int64s:
        """Return the rows of the set that is matched to the winners of a neuron and pole, ascending."""
        return self._matcher.draw(winners, self._seed, drawn_for(winners))

    def random(self, size: int, number: int) -> Int64s:
        """Return the rows of a neuron and pole's random set, ascending."""
        return self._baseline[draw(len(self._baseline), size, self._seed, RANDOM, number)]


def drawn_for(winners: Integers) -> int:
    """Return the number of a set's draws, which depends on its winners alone, so that equal sets get equal draws."""
    return crc32(np.sort(winners).astype(np.int64).tobytes())


@dataclass(frozen=True)
class LikeRows:
    """The rows that the winners of several sets are compared with.

    Attributes:
        rows: for each set, the rows that match any of its winners. Those that match the same winner are adjacent.
        first, stop: the range of its set's rows that match each winner, `[winners of all sets]`. If both are equal, no
            row matches.
    """

    rows: Sequences
    first: Int64s
    stop: Int64s


class Matcher:
    """Finds rows of the same data set and of similar length as other rows.

    Rows are grouped into cells by data set and length. The rows of a cell are adjacent, as are the cells of consecutive
    lengths of a data set. If no row has the length of another row, those of the same bucket of 2, 4, 8 or 16 words are
    similar, in this order. Otherwise none is similar, and a draw takes any row of the data set.

    Args:
        rows: the rows to find, distinct and ascending.
        dataset: the code of the data set of each row of the store, `[rows of the store]`.
        lengths: a function that returns the number of words of given rows of the store.
        longest: the number of words of the longest row of the store.
    """

    def __init__(self, rows: Int64s, dataset: Int32s, lengths: Callable[[Int64s], Int64s], longest: int) -> None:
        self._dataset, self._lengths, self._per_dataset = dataset, lengths, longest + 1
        cell = self._cells(rows)
        self._rows = rows[np.argsort(cell, kind="stable")]
        cells = (int(dataset.max(initial=-1)) + 1) * self._per_dataset
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(cell, minlength=cells))))
        self._used = np.zeros(len(dataset), np.bool_)

    def _cells(self, rows: Integers) -> Int64s:
        codes = self._dataset[rows].astype(np.int64)
        return np.asarray(codes * self._per_dataset + self._lengths(rows.astype(np.int64)))

    def draw(self, winners: Integers, seed: int, number: int) -> Int64s:
        """Draw a similar row for each winner that is not a winner itself, in time proportional to the winners.

        The winners' rows are distinct, `[winners]`, and those drawn ascend. A winner gets no row if none is free, so
        the set may be smaller. `seed` is that of all draws, and `number` that of this one.
        """
        random = np.random.default_rng([seed, MATCHED, number])
        self._used[winners] = True
        drawn = _draw_like(
            self._cells(winners), self._rows, self._starts, self._per_dataset, self._used, random, WIDTHS
        )
        self._used[winners] = self._used[drawn] = False
        return np.sort(drawn)

    def similar(self, sets: Sequences) -> LikeRows:
        """Return, for each winner, the similar rows that are not in its set, given the winners' rows of each set."""
        found = [self._like_rows(winners) for winners in sets.to_arrays()]
        none = np.zeros(0, np.int64)
        first, stop = (np.concatenate([none, *(own[which] for own in found)]) for which in (1, 2))
        return LikeRows(Sequences.from_lists(rows for rows, *_ in found), first, stop)

    def _like_rows(self, winners: Int32s) -> tuple[Int64s, Int64s, Int64s]:
        """Return the rows that match any of a set's winners, and where those of each winner start and end."""
        self._used[winners] = True
        free = ~self._used[self._rows]
        self._used[winners] = False
        cells = self._cells(winners)
        free_before = np.concatenate(([0], np.cumsum(free)))
        dataset = cells // self._per_dataset * self._per_dataset
        first, stop = np.zeros(cells.size, np.int64), np.zeros(cells.size, np.int64)
        for width in WIDTHS[:-1]:
            begin = dataset + (cells - dataset) // width * width
            end = np.minimum(begin + width, dataset + self._per_dataset)
            start_row, stop_row = self._starts[begin], self._starts[end]
            found = (stop == 0) & (free_before[stop_row] > free_before[start_row])
            first[found], stop[found] = start_row[found], stop_row[found]
        opened, closed = (np.bincount(ends, minlength=len(free_before)) for ends in (first, stop))
        keep = free & (np.cumsum(opened - closed)[:-1] > 0)
        kept_before = np.concatenate(([0], np.cumsum(keep)))
        return self._rows[keep], kept_before[first], kept_before[stop]


@compiled
def _draw_like(
    cells: Int64s, rows: Int64s, starts: Int64s, per_dataset: int, used: Bools, random: np.random.Generator,
    widths: Int64s,
) -> Int64s:  # fmt: skip
    """Draw rows from the same cells or, if they have too few, from ever wider buckets of cells; mark them in `used`.

    `cells [wanted]` are those for which rows are needed. Cell i has the rows `rows[starts[i]:starts[i + 1]]`, and a
    data set has `per_dataset` consecutive cells, one for each length from 0. The width of each bucket is a multiple of
    the previous one.
    """
    drawn = np.empty(cells.size, np.int64)
    n = 0
    left = cells
    for width in widths:
        first_cell = left // per_dataset * per_dataset + left % per_dataset // width * width
        order = np.argsort(first_cell)
        still = np.empty(left.size, np.int64)
        n_still, at = 0, 0
        while at < left.size:
            first = first_cell[order[at]]
            stop = at
            while stop < left.size and first_cell[order[stop]] == first:
                stop += 1
            last = min(first + width, (first // per_dataset + 1) * per_dataset)
            taken = _take(rows[starts[first] : starts[last]], stop - at, used, random, drawn[n:])
            n += taken
            for index in range(at + taken, stop):
                still[n_still] = left[order[index]]
                n_still += 1
            at = stop
        left = still[:n_still]
    return drawn[:n]


@compiled
def _take(rows: Int64s, wanted: int, used: Bools, random: np.random.Generator, drawn: Int64s) -> int:
    """Draw up to `wanted` unused rows uniformly into `drawn`; mark them as used, and return how many."""
    n, tries = 0, 0
    # If most rows are free, a few random tries are cheaper than scanning all rows.
    while n < wanted and tries < 4 * wanted < rows.size:
        row = rows[random.integers(0, rows.size)]
        if not used[row]:
            used[row] = True
            drawn[n] = row
            n += 1
        tries += 1
    if n == wanted:
        return n
    free = rows[~used[rows]]
    while n < wanted and free.size:
        index = random.integers(0, free.size)
        used[free[index]] = True
        drawn[n] = free[index]
        free[index] = free[-1]
        free = free[:-1]
        n += 1
    return n
