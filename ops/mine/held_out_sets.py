"""Sets of sentences for the held-out areas: training and test documents, random sets and matched sets."""

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# One number for each draw, so that no two share their random stream.
SPLIT, RANDOM, MATCHED, OTHERS = range(100, 104)
_WIDTHS = (1, 2, 4, 8, 16, 1 << 30)


def training_documents(documents: int, seed: int) -> Bools:
    """Draw which documents train, each with chance one half, `[documents]` bool; the others test.

    Sentences of one document are on the same side, so that none is recognised by its neighbours.
    """
    return np.asarray(np.random.default_rng([seed, SPLIT]).random(documents) < 0.5)


def random_set(baseline: Longs, size: int, seed: int, number: int) -> Longs:
    """Draw a uniform set of `size` of the baseline's rows (all of them where it has no more), sorted."""
    rng = np.random.default_rng([seed, RANDOM, number])
    return np.sort(rng.choice(baseline, min(size, len(baseline)), replace=False))


def matched_set(
    winners: Longs, baseline: Longs, dataset: npt.NDArray[np.int32], lengths: Longs, seed: int, number: int
) -> Longs:
    """Draw, for each winner, a row of the baseline that is no winner, of the same dataset and the nearest length left.

    A row of the same length is taken if there is one, else of the same bucket of 2, 4, 8 or 16 words, else of any
    length in the dataset. A winner without any such row has none in the set, which may then be smaller.

    Args:
        winners, baseline: rows, `[winners]` and `[baseline]`, each distinct.
        dataset: code of each row of the store, `[rows]`.
        lengths: words of each row of the store, `[rows]`.

    Returns:
        Sorted rows, at most `[winners]`.
    """
    rng = np.random.default_rng([seed, MATCHED, number])
    free = rng.permutation(np.setdiff1d(baseline, winners))
    unmatched = rng.permutation(winners)
    found: list[Longs] = []
    for width in _WIDTHS:
        if not len(unmatched) or not len(free):
            break
        rows = np.concatenate([unmatched, free])
        names, cell = np.unique((dataset[rows].astype(np.int64) << 32) + lengths[rows] // width, return_inverse=True)
        own, others = cell[: len(unmatched)], cell[len(unmatched) :]
        take = np.minimum(np.bincount(own, minlength=len(names)), np.bincount(others, minlength=len(names)))
        matched, used = _place_in_cell(own) < take[own], _place_in_cell(others) < take[others]
        found.append(free[used])
        unmatched, free = unmatched[~matched], free[~used]
    return np.sort(np.concatenate([np.zeros(0, np.int64), *found]))


def _place_in_cell(cell: Longs) -> Longs:
    """Number the members of each cell from 0, in their order."""
    order = np.argsort(cell, kind="stable")
    sizes = np.bincount(cell)
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(cell), np.int64)
    place[order] = np.arange(len(cell)) - starts[cell[order]]
    return place


def draw_others(baseline: Longs, members: Longs, at_most: int, seed: int) -> Longs:
    """Draw at most `at_most` of the baseline's test rows and leave out the members of a set; sorted."""
    rng = np.random.default_rng([seed, OTHERS])
    chosen = baseline if len(baseline) <= at_most else np.sort(rng.choice(baseline, at_most, replace=False))
    return np.setdiff1d(chosen, members)
