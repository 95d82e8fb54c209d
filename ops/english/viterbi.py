"""The best depths of a sentence by two scores at once: the depth itself and its change from word to word."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DEPTHS = 28
LOWEST_CHANGE = -24
CHANGES = 31


def change_columns() -> NDArray[np.int64]:
    """Return the column of the change that leads from depth i + 1 to depth j + 1, `[DEPTHS, DEPTHS]`.

    A change out of range takes the nearest column.
    """
    depth = np.arange(DEPTHS)
    columns: NDArray[np.int64] = np.clip(depth[None, :] - depth[:, None] - LOWEST_CHANGE, 0, CHANGES - 1)
    return columns


def best_depths(absolute: NDArray[np.float32], change: NDArray[np.float32], lengths: Sequence[int]) -> list[list[int]]:
    """Return the depths (from 1) with the greatest sum of scores for each sentence, one fewer than its words.

    The depth before the first word is 1.

    Args:
        absolute: log-probabilities of the depths after each word of sentences laid end to end, `[words, DEPTHS]`;
            those of a last word do not count.
        change: those of the change of depth, `[words, CHANGES]`.
        lengths: words of each sentence.
    """
    sizes = np.asarray(lengths, np.int64) - 1
    starts = np.cumsum(sizes + 1) - sizes - 1
    order = np.argsort(-sizes, kind="stable")
    sizes, starts = sizes[order], starts[order]
    columns = change_columns()
    active = int((sizes > 0).sum())
    longest = int(sizes[0]) if active else 0
    arrivals = np.zeros((longest, active, DEPTHS), np.int8)
    finals = np.zeros((active, DEPTHS), np.float32)
    if active:
        finals[:] = absolute[starts[:active]] + change[starts[:active]][:, columns[0]]
    for step in range(1, longest):
        count = int((sizes > step).sum())
        rows = starts[:count] + step
        scores = finals[:count, :, None] + change[rows][:, columns]
        arrivals[step, :count] = scores.argmax(1)
        finals[:count] = scores.max(1) + absolute[rows]
    depths = np.zeros((longest, active), np.int64)
    best = finals.argmax(1)
    for step in range(longest - 1, -1, -1):
        count = int((sizes > step).sum())
        depths[step, :count] = best[:count] + 1
        best[:count] = arrivals[step, np.arange(count), best[:count]]
    found: list[list[int]] = [[] for _ in lengths]
    for column in range(active):
        found[order[column]] = depths[: sizes[column], column].tolist()
    return found
