"""Patterns that were grown by one item at a time, spelled out."""

import numpy as np
from numpy.typing import NDArray

from ops.compiled import compiled
from ops.patterns.sequences import Sequences


def spell(parent: NDArray[np.int64], item: NDArray[np.int64]) -> Sequences:
    """Return the patterns: each is an earlier one, `parent` (-1 for none), with `item` after it.

    >>> spell(np.array([-1, 0, 0]), np.array([7, 8, 9])).to_lists()
    [[7], [7, 8], [7, 9]]
    """
    return Sequences(*_spell(parent, item))


@compiled
def _spell(parent: NDArray[np.int64], item: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
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
