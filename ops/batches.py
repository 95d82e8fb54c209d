"""Batches of one shard: sentences of like length together, by a budget of tokens."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt


def length_batches(n_tokens: npt.NDArray[np.integer], budget: int) -> Iterator[npt.NDArray[np.int64]]:
    """Give the row numbers of each batch, longest sentences first; a function of the lengths and the budget alone.

    Args:
        n_tokens: tokens of each sentence, special ones included, `[sentences]`.
        budget: most tokens of a batch, padding included; a longer sentence makes a batch of its own.
    """
    order = np.argsort(-n_tokens.astype(np.int64), kind="stable")
    start = 0
    while start < len(order):
        longest = max(int(n_tokens[order[start]]), 1)
        count = max(budget // longest, 1)
        yield order[start : start + count]
        start += count
