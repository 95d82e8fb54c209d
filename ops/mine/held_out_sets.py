"""Sets of sentences for the held-out areas: training and test documents, random sets and matched sets."""

from collections.abc import Callable

import numpy as np

from ops.arrays import Bools, Int32s, Int64s, Integers
from ops.compiled import compiled
from ops.patterns.sequences import Sequences
from ops.sentences.store import SentenceStore

# What each neuron and pole is scored on: its winners, a set matched to them and a random one.
SETS = ("own", "matched", "random")

# One number for each draw, so that no two share their random stream.
SPLIT, RANDOM, MATCHED, OTHERS = range(100, 104)
_WIDTHS = np.array([1, 2, 4, 8, 16, 1 << 30])


class HeldOutSets:
    """Draws what neurons are scored on from annotated sentences, by a seed."""

    def __init__(self, store: SentenceStore, seed: int) -> None:
        self._seed, self._baseline = seed, np.flatnonzero(store.baseline)
        self._matched = MatchedSets(self._baseline, np.asarray(store.dataset), store.lengths, store.longest, seed)

    def draw(self, number: Int64s, winners: Sequences) -> Sequences:
        """Return the rows of each of `SETS` for each neuron and pole, ascending in each.

        Args:
            number: the neurons and poles, `[n]`.
            winners: the rows of each one's winners.
        """
        sets: list[Integers] = []
        for own_number, first, stop in zip(number.tolist(), winners.offsets[:-1], winners.offsets[1:], strict=True):
            own = winners.items[first:stop]
            sets.append(own)
            sets.append(self._matched.draw(own, own_number))
            sets.append(random_set(self._baseline, len(own), self._seed, own_number))
        rows = np.concatenate([np.zeros(0, np.int32), *sets]).astype(np.int32)
        return Sequences(rows, np.cumsum([0, *map(len, sets)], dtype=np.int64))


def training_documents(documents: int, seed: int) -> Bools:
    """Draw which documents train, each with chance one half, `[documents]` bool; the others test.

    Sentences of one document are on the same side, so that none is recognised by its neighbours.
    """
    return np.asarray(np.random.default_rng([seed, SPLIT]).random(documents) < 0.5)


def random_set(baseline: Int64s, size: int, seed: int, number: int) -> Int64s:
    """Draw a uniform set of `size` of the baseline's rows (all of them where it has no more), ascending."""
    rng = np.random.default_rng([seed, RANDOM, number])
    return np.sort(rng.choice(baseline, min(size, len(baseline)), replace=False))


class MatchedSets:
    """Draws, for rows, others of the baseline that are like them in dataset and length, in a time that grows with them.

    Args:
        baseline: rows, distinct and ascending.
        dataset: code of each row of the store, `[rows]`.
        lengths: returns the words of rows of the store.
        longest: words of the longest row of the store.
        seed: of all draws.
    """

    def __init__(
        self, baseline: Int64s, dataset: Int32s, lengths: Callable[[Int64s], Int64s], longest: int, seed: int
    ) -> None:
        self._dataset, self._lengths, self._seed = dataset, lengths, seed
        # A cell is a dataset and a length. A bucket of lengths is cells that follow each other.
        self._per_dataset = longest + 1
        cell = self._cells(baseline)
        self._rows = baseline[np.argsort(cell, kind="stable")]
        cells = (int(dataset.max(initial=-1)) + 1) * self._per_dataset
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(cell, minlength=cells))))
        self._used = np.zeros(len(dataset), np.bool_)

    def draw(self, winners: Integers, number: int) -> Int64s:
        """Draw, for each winner, a row of the baseline that is no winner: of its dataset and the nearest length left.

        A row of the same length is taken if there is one, else of the same bucket of 2, 4, 8 or 16 words, else of any
        length in the dataset. A winner without any such row has none in the set, which may then be smaller.

        Args:
            winners: rows, `[winners]`, each distinct.
            number: of the neuron and pole: no two share a draw.

        Returns:
            Ascending rows, at most `[winners]`.
        """
        random = np.random.default_rng([self._seed, MATCHED, number])
        self._used[winners] = True
        found = _draw_like(
            self._cells(winners), self._rows, self._starts, self._per_dataset, self._used, random, _WIDTHS
        )
        self._used[winners] = self._used[found] = False
        return np.sort(found)

    def _cells(self, rows: Integers) -> Int64s:
        codes = self._dataset[rows].astype(np.int64)
        return np.asarray(codes * self._per_dataset + self._lengths(rows.astype(np.int64)))


@compiled
def _draw_like(
    cells: Int64s,
    rows: Int64s,
    starts: Int64s,
    per_dataset: int,
    used: Bools,
    random: np.random.Generator,
    widths: Int64s,
) -> Int64s:
    """Return rows, marked in `used`, for each width of a bucket in turn as many of each bucket as can be.

    Args:
        cells: those that a row is wanted of, `[wanted]`.
        rows, starts: cell i has the rows `rows[starts[i]:starts[i + 1]]`.
        per_dataset: so many cells, one after the other, are of one dataset, for each length from 0.
        used: rows that are not to be taken, `[rows of the store]`.
        random: draws.
        widths: of buckets, each a multiple of the one before.
    """
    found = np.empty(cells.size, np.int64)
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
            taken = _take(rows[starts[first] : starts[last]], stop - at, used, random, found[n:])
            n += taken
            for place in range(at + taken, stop):
                still[n_still] = left[order[place]]
                n_still += 1
            at = stop
        left = still[:n_still]
    return found[:n]


@compiled
def _take(rows: Int64s, wanted: int, used: Bools, random: np.random.Generator, found: Int64s) -> int:
    """Draw up to so many of the rows that are not used, all alike, into `found`; mark them, and return how many."""
    n, tries = 0, 0
    # Where most are free some tries are cheaper than a look at all.
    while n < wanted and tries < 4 * wanted < rows.size:
        row = rows[random.integers(0, rows.size)]
        if not used[row]:
            used[row] = True
            found[n] = row
            n += 1
        tries += 1
    if n == wanted:
        return n
    free = rows[~used[rows]]
    while n < wanted and free.size:
        place = random.integers(0, free.size)
        used[free[place]] = True
        found[n] = free[place]
        free[place] = free[-1]
        free = free[:-1]
        n += 1
    return n


def draw_others(baseline: Int64s, at_most: int, seed: int) -> Int64s:
    """Draw at most `at_most` of the baseline's test rows, ascending as they are."""
    rng = np.random.default_rng([seed, OTHERS])
    return baseline if len(baseline) <= at_most else np.sort(rng.choice(baseline, at_most, replace=False))


def others_of(others: Int64s, sets: Sequences) -> Sequences:
    """Return the others without the members of each set, which ascend."""
    found = [_without(others, sets.items[a:b]) for a, b in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)]
    rows = np.concatenate([np.zeros(0, np.int32), *found]).astype(np.int32)
    return Sequences(rows, np.cumsum([0, *map(len, found)], dtype=np.int64))


def _without(rows: Int64s, members: Integers) -> Int64s:
    """Return the rows that are no members; both ascend, and each is distinct."""
    place = np.minimum(np.searchsorted(rows, members), len(rows) - 1) if len(rows) else np.zeros(0, np.int64)
    keep = np.ones(len(rows), bool)
    if len(rows):
        keep[place[rows[place] == members]] = False
    return rows[keep]
