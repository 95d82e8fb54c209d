"""Batches of one shard: sentences of like length together, by a budget of tokens, and their tokens as tensors."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Literal

import numpy as np
import torch

from ops.arrays import Arrays, Int64s, Integers
from ops.compiled import compiled
from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids

# Which lengths a batch may hold: any that lie close (cheapest on a CPU), one alone where many sentences have it (on a
# GPU, whose fastest attention takes no padding), one alone always (where padding changes what a model computes).
Lengths = Literal["mixed", "common", "equal"]

_BATCHES_PER_BUDGET = 64  # What a batch costs whatever it holds: on a CPU about 32 of 2,048 tokens' time (measured).
_RARE = 16  # a length is rare whose sentences hold together less than this part of the budget


def batch_lengths(device: str, equal_lengths: bool = False) -> Lengths:
    """Return which lengths the batches of a pass hold: every pass over a model asks here, so that all cut alike.

    Args:
        device: the kind of device that the model runs on.
        equal_lengths: whether padding changes what it computes, so that a batch must hold sentences of one length.
    """
    if equal_lengths:
        return "equal"
    return "mixed" if device == "cpu" else "common"


def length_batches(n_tokens: Integers, budget: int, lengths: Lengths = "mixed") -> Iterator[Int64s]:
    """Return the row numbers of each batch, longest sentences first; a function of the arguments alone.

    Of all ways to cut the sentences, sorted by length, into batches within the budget, `mixed` is the one that costs
    least: the tokens of its batches, padding included, and for each batch a 64th of the budget. Under `common` a
    length whose sentences hold a 16th of the budget or more has batches of its own, and the rare ones between them are
    cut as under `mixed`; under `equal` every length has batches of its own.

    Args:
        n_tokens: tokens of each sentence, special ones included, `[sentences]`.
        budget: most tokens of a batch, padding included; a longer sentence makes a batch of its own.
        lengths: which a batch may hold.
    """
    order = np.argsort(-n_tokens.astype(np.int64), kind="stable")
    long = np.maximum(n_tokens[order].astype(np.int64), 1)
    if lengths == "mixed":
        yield from _cheapest(order, long, budget)
        return
    starts = np.flatnonzero(np.diff(long, prepend=0))
    stops = np.append(starts[1:], len(order))
    common = (lengths == "equal") | (long[starts] * (stops - starts) * _RARE >= budget)
    # Neighbours that are rare are cut together.
    cuts = np.flatnonzero(np.append(common[1:] | common[:-1], True)) + 1
    for first, stop in pairwise([0, *cuts.tolist()]) if len(order) else ():
        own = slice(int(starts[first]), int(stops[stop - 1]))
        if common[first]:
            most = max(budget // int(long[own.start]), 1)
            yield from (order[at : min(at + most, own.stop)] for at in range(own.start, own.stop, most))
        else:
            yield from _cheapest(order[own], long[own], budget)


def _cheapest(order: Int64s, long: Int64s, budget: int) -> list[Int64s]:
    """Return the rows `order`, whose lengths `long` descend, cut into the batches that cost least."""
    first = _last_batch_starts(long, budget, max(budget // _BATCHES_PER_BUDGET, 1))
    stop = len(order)
    batches = []
    while stop:
        batches.append(order[first[stop] : stop])
        stop = int(first[stop])
    return batches[::-1]


@compiled
def _last_batch_starts(lengths: Int64s, budget: int, own: int) -> Int64s:
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


def encode_batches(
    sent_ids: Ids, texts: list[str], n_tokens: Ids, tokenizer: Tokenizer, budget: int, lengths: Lengths = "mixed"
) -> Iterator[tuple[Ids, TokenBlock]]:
    """Return each batch's sentence ids and tokens; the next batch is tokenized while one is in use.

    The batches depend on the shard's lengths and the budget alone, never on who runs them.

    Args:
        sent_ids: ids of the sentences, `[sentences]`.
        texts: the sentences.
        n_tokens: tokens of each sentence, special ones included, `[sentences]`.
        tokenizer: the model's tokenizer.
        budget, lengths: as `length_batches` takes them.
    """
    rows = list(length_batches(n_tokens, budget, lengths))
    with ThreadPoolExecutor(1) as ahead:

        def encode(i: int) -> TokenBlock:
            return TokenBlock.of(tokenizer.encode([texts[row] for row in rows[i]]))

        def start(i: int) -> Future[TokenBlock]:
            return ahead.submit(encode, i)

        coming = start(0) if rows else None
        for i, batch in enumerate(rows):
            assert coming is not None
            tokens = coming.result()
            coming = start(i + 1) if i + 1 < len(rows) else None
            yield sent_ids[batch], tokens


def pad(batch: Sequence[Tokens], pad_id: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids (int64), real tokens and added tokens (bool), each `[sentences, longest]`, padded on the right."""
    block = TokenBlock.of(batch)
    lengths = block.lengths
    real = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(real.shape, pad_id, np.int32)
    ids[real] = block.ids
    added = np.zeros(real.shape, bool)
    added[real] = block.added
    return to_device(ids, device).long(), to_device(real, device), to_device(added, device)


def to_device(array: Arrays, device: torch.device) -> torch.Tensor:
    """Return an array on a device; where that is a GPU, by pinned memory and without waiting for the copy."""
    tensor = torch.from_numpy(array)
    # Pinned memory goes back to torch's own cache, which knows of the copies that are under way.
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
