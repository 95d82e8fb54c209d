"""Which sentences are the first of their text, and how often each text occurs."""

import numpy as np
import numpy.typing as npt


def first_copies(
    high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the first sentence of each text.

    Args:
        high, low: the two halves of each text's 128-bit hash, `[sentences]`, in the order of the plan.

    Returns:
        The places of the first sentences, rising, and how often the text of each occurs, both `[distinct]` int64.
    """
    if not len(high):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((low, high))
    new = np.ones(len(order), bool)
    new[1:] = (high[order][1:] != high[order][:-1]) | (low[order][1:] != low[order][:-1])
    starts = np.flatnonzero(new)
    copies = np.diff(np.append(starts, len(order)))
    first = order[starts]  # lexsort is stable: within a text, places rise
    ascending = np.argsort(first)
    return first[ascending].astype(np.int64), copies[ascending].astype(np.int64)
