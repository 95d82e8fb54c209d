"""The best depths of a sentence according to two scores: of the depth itself and of its change between words."""

from collections.abc import Sequence

import numpy as np

from ops.arrays import Float32s, Int64s
from ops.compiled import compiled

DEPTHS = 28
LOWEST_CHANGE = -24
CHANGES = 31
# The column of the change for each difference of two depths, from 1 - DEPTHS on; the nearest column if out of range.
COLUMNS = np.clip(np.arange(1 - DEPTHS, DEPTHS) - LOWEST_CHANGE, 0, CHANGES - 1)


def change_columns() -> Int64s:
    """Return the column of the change that leads from depth i + 1 to depth j + 1, `[DEPTHS, DEPTHS]`.

    A change that is out of range gets the nearest column.
    """
    depth = np.arange(DEPTHS)
    columns: Int64s = COLUMNS[depth[None, :] - depth[:, None] + DEPTHS - 1]
    return columns


def best_depths(absolute: Float32s, change: Float32s, lengths: Sequence[int]) -> Int64s:
    """Return the depths (from 1) with the greatest sum of scores, `[words]`; 0 after the last word of a sentence.

    The depth before the first word is 1. Ties go to the lowest depths, compared from the end.

    Args:
        absolute: log-probabilities of the depths after each word of concatenated sentences, `[words, DEPTHS]`; the
            values of a sentence's last word are ignored.
        change: log-probabilities of the change of depth, `[words, CHANGES]`.
        lengths: number of words of each sentence, at least one.
    """
    ends = np.cumsum(np.asarray(lengths, np.int64))
    depths = np.zeros(len(absolute), np.int64)
    _follow(np.ascontiguousarray(absolute), np.ascontiguousarray(change), ends, depths)
    return depths


@compiled
def _follow(absolute: Float32s, change: Float32s, ends: Int64s, depths: Int64s) -> None:
    """Write the best depths into `depths`, `[words]`, except after the last word of each sentence."""
    changes = np.empty(2 * DEPTHS - 1, np.float32)
    scores, best = np.empty(DEPTHS, np.float32), np.empty(DEPTHS, np.float32)
    arrivals = np.empty((len(absolute), DEPTHS), np.int32)
    start = 0
    for end in ends:
        last = end - 1
        for place in range(start, last):
            for k in range(2 * DEPTHS - 1):
                changes[k] = change[place, COLUMNS[k]]
            from_here = arrivals[place]
            for depth in range(DEPTHS):
                best[depth] = (np.float32(0) if place == start else scores[0]) + changes[depth + DEPTHS - 1]
                from_here[depth] = 0
            for before in range(1, DEPTHS if place > start else 1):
                score = scores[before]
                for depth in range(DEPTHS):
                    value = score + changes[depth - before + DEPTHS - 1]
                    from_here[depth] = before if value > best[depth] else from_here[depth]
                    best[depth] = max(value, best[depth])
            for depth in range(DEPTHS):
                scores[depth] = best[depth] + absolute[place, depth]
        if last > start:
            depth = int(scores.argmax())
            for place in range(last - 1, start - 1, -1):
                depths[place] = depth + 1
                depth = arrivals[place, depth]
        start = end
