"""Batches of one shard: sentences of like length together, by a budget of tokens."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ops.compiled import compiled

_BATCHES_PER_BUDGET = 64  # What a batch costs whatever it holds: on a CPU about 32 of 2,048 tokens' time (measured).


def length_batches(n_tokens: npt.NDArray[np.integer], budget: int) -> Iterator[npt.NDArray[np.int64]]:
    """Return the row numbers of each batch, longest sentences first; a function of the lengths and the budget alone.

    Of all ways to cut the sentences, sorted by length, into batches within the budget, this is the one that costs
    least: the tokens of its batches, padding included, and for each batch a 64th of the budget.

    Args:
        n_tokens: tokens of each sentence, special ones included, `[sentences]`.
        budget: most tokens of a batch, padding included; a longer sentence makes a batch of its own.
    """
    order = np.argsort(-n_tokens.astype(np.int64), kind="stable")
    lengths = np.maximum(n_tokens[order].astype(np.int64), 1)
    first = _cut(lengths, budget, max(budget // _BATCHES_PER_BUDGET, 1))
    stop = len(order)
    batches = []
    while stop:
        batches.append(order[first[stop] : stop])
        stop = int(first[stop])
    yield from reversed(batches)


@compiled
def _cut(lengths: npt.NDArray[np.int64], budget: int, own: int) -> npt.NDArray[np.int64]:
    """Return, for every number of sentences, where the last batch of the cheapest way to cut so many begins."""
    cost = np.zeros(len(lengths) + 1, np.int64)
    first = np.zeros(len(lengths) + 1, np.int64)
    for stop in range(1, len(lengths) + 1):
        start = stop - 1
        cost[stop] = cost[start] + lengths[start] + own
        first[stop] = start
        start -= 1
        while start >= 0 and lengths[start] * (stop - start) <= budget:
            found = cost[start] + lengths[start] * (stop - start) + own
            if found < cost[stop]:
                cost[stop] = found
                first[stop] = start
            start -= 1
    return first
