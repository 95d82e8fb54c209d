"""Sets of sentences for the held-out areas: training and test documents, random sets and matched sets."""

import numpy as np
import numpy.typing as npt

from ops.compiled import compiled
from ops.patterns.sequences import Sequences
from ops.sentences.store import SentenceStore

Longs = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

# What each neuron and pole is scored on: its winners, a set matched to them and a random one.
SETS = ("own", "matched", "random")

# One number for each draw, so that no two share their random stream.
SPLIT, RANDOM, MATCHED, OTHERS = range(100, 104)
_WIDTHS = np.array([1, 2, 4, 8, 16, 1 << 30])


class HeldOutSets:
    """Draws what neurons are scored on from annotated sentences, by a seed."""

    def __init__(self, store: SentenceStore, seed: int) -> None:
        self._seed, self._baseline = seed, np.flatnonzero(store.baseline)
        self._dataset, self._lengths = np.asarray(store.dataset), store.lengths(np.arange(len(store.sent_id)))

    def draw(self, number: Longs, winners: Sequences) -> Sequences:
        """Return the rows of each of `SETS` for each neuron and pole, ascending in each.

        Args:
            number: the neurons and poles, `[n]`.
            winners: the rows of each one's winners.
        """
        sets: list[npt.NDArray[np.integer]] = []
        for own_number, first, stop in zip(number.tolist(), winners.offsets[:-1], winners.offsets[1:], strict=True):
            own = winners.items[first:stop]
            sets.append(own)
            sets.append(matched_set(own, self._baseline, self._dataset, self._lengths, self._seed, own_number))
            sets.append(random_set(self._baseline, len(own), self._seed, own_number))
        rows = np.concatenate([np.zeros(0, np.int32), *sets]).astype(np.int32)
        return Sequences(rows, np.cumsum([0, *map(len, sets)], dtype=np.int64))


def training_documents(documents: int, seed: int) -> Bools:
    """Draw which documents train, each with chance one half, `[documents]` bool; the others test.

    Sentences of one document are on the same side, so that none is recognised by its neighbours.
    """
    return np.asarray(np.random.default_rng([seed, SPLIT]).random(documents) < 0.5)


def random_set(baseline: Longs, size: int, seed: int, number: int) -> Longs:
    """Draw a uniform set of `size` of the baseline's rows (all of them where it has no more), ascending."""
    rng = np.random.default_rng([seed, RANDOM, number])
    return np.sort(rng.choice(baseline, min(size, len(baseline)), replace=False))


def matched_set(
    winners: npt.NDArray[np.integer], baseline: Longs, dataset: Codes, lengths: Longs, seed: int, number: int
) -> Longs:
    """Draw, for each winner, a row of the baseline that is no winner, of the same dataset and the nearest length left.

    A row of the same length is taken if there is one, else of the same bucket of 2, 4, 8 or 16 words, else of any
    length in the dataset. A winner without any such row has none in the set, which may then be smaller.

    Args:
        winners, baseline: rows, `[winners]` and `[baseline]`, each distinct and ascending.
        dataset: code of each row of the store, `[rows]`.
        lengths: words of each row of the store, `[rows]`.

    Returns:
        Ascending rows, at most `[winners]`.
    """
    rng = np.random.default_rng([seed, MATCHED, number])
    free = rng.permutation(_without(baseline, winners))
    own = rng.permutation(winners)
    return np.sort(free[_nearest(dataset[own], lengths[own], dataset[free], lengths[free], _WIDTHS)])


@compiled
def _nearest(own_dataset: Codes, own_length: Longs, dataset: Codes, length: Longs, widths: Longs) -> Bools:
    """Return which of the others are taken: for each width of a bucket in turn as many of each cell as can be.

    A cell is a dataset and a bucket of lengths; in each the first come first.
    """
    taken = np.zeros(dataset.size, np.bool_)
    own_left, left = np.arange(own_dataset.size), np.arange(dataset.size)
    longest, datasets = 0, 0
    for row in range(own_dataset.size):
        longest, datasets = max(longest, int(own_length[row])), max(datasets, int(own_dataset[row]) + 1)
    for row in range(dataset.size):
        longest, datasets = max(longest, int(length[row])), max(datasets, int(dataset[row]) + 1)
    for width in widths:
        if own_left.size == 0 or left.size == 0:
            break
        buckets = longest // int(width) + 1
        wanted, had = np.zeros(datasets * buckets, np.int32), np.zeros(datasets * buckets, np.int32)
        for place in own_left:
            wanted[own_dataset[place] * buckets + own_length[place] // width] += 1
        for place in left:
            had[dataset[place] * buckets + length[place] // width] += 1
        for cell in range(wanted.size):
            wanted[cell] = had[cell] = min(wanted[cell], had[cell])
        own_kept = 0
        for place in own_left:
            cell = own_dataset[place] * buckets + own_length[place] // width
            if wanted[cell] > 0:
                wanted[cell] -= 1
            else:
                own_left[own_kept] = place
                own_kept += 1
        own_left = own_left[:own_kept]
        kept = 0
        for place in left:
            cell = dataset[place] * buckets + length[place] // width
            if had[cell] > 0:
                had[cell] -= 1
                taken[place] = True
            else:
                left[kept] = place
                kept += 1
        left = left[:kept]
    return taken


def draw_others(baseline: Longs, at_most: int, seed: int) -> Longs:
    """Draw at most `at_most` of the baseline's test rows, ascending as they are."""
    rng = np.random.default_rng([seed, OTHERS])
    return baseline if len(baseline) <= at_most else np.sort(rng.choice(baseline, at_most, replace=False))


def others_of(others: Longs, sets: Sequences) -> Sequences:
    """Return the others without the members of each set, which ascend."""
    found = [_without(others, sets.items[a:b]) for a, b in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)]
    rows = np.concatenate([np.zeros(0, np.int32), *found]).astype(np.int32)
    return Sequences(rows, np.cumsum([0, *map(len, found)], dtype=np.int64))


def _without(rows: Longs, members: npt.NDArray[np.integer]) -> Longs:
    """Return the rows that are no members; both ascend, and each is distinct."""
    place = np.minimum(np.searchsorted(rows, members), len(rows) - 1) if len(rows) else np.zeros(0, np.int64)
    keep = np.ones(len(rows), bool)
    if len(rows):
        keep[place[rows[place] == members]] = False
    return rows[keep]
