"""Batches of one shard: sentences of similar length, up to a budget of tokens, and their tokens as tensors."""

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

# The sentence lengths that a batch may mix. `mixed`: similar lengths (cheapest on a CPU). `common`: a length that many
# sentences have gets its own batches (on a GPU, whose fastest attention accepts no padding). `equal`: every batch has
# one length (if padding changes what a model computes).
Lengths = Literal["mixed", "common", "equal"]

_BATCHES_PER_BUDGET = 64  # A batch's fixed cost is 1/64 of the budget: on a CPU the time of about 32 of 2,048 tokens.
_RARE = 16  # a length is rare if its sentences together have less than 1/16 of the budget's tokens


def batch_lengths(device: str, equal_lengths: bool = False) -> Lengths:
    """Return which sentence lengths a batch may mix.

    Every pass of a model over sentences calls this function, so that all passes form the same batches.

    Args:
        device: the kind of device that the model runs on.
        equal_lengths: whether padding changes what the model computes, so that a batch must have sentences of one
            length.
    """
    if equal_lengths:
        return "equal"
    return "mixed" if device == "cpu" else "common"


def length_batches(n_tokens: Integers, budget: int, lengths: Lengths = "mixed") -> Iterator[Int64s]:
    """Yield the row indices of each batch, longest sentences first; the result depends only on the arguments.

    Sentences are sorted by length and divided into batches within the budget:

    - `mixed` chooses the division with the lowest cost. The cost is the number of tokens of all batches, including
      padding, plus 1/64 of the budget for each batch.
    - `common` gives a length its own batches if its sentences together have at least 1/16 of the budget's tokens. The
      rare lengths between such lengths are divided as under `mixed`.
    - `equal` gives every length its own batches.

    Args:
        n_tokens: number of tokens of each sentence, including special tokens, `[sentences]`.
        budget: maximum number of tokens of a batch, including padding; a longer sentence is a batch of its own.
        lengths: which lengths a batch may mix.
    """
    order = np.argsort(-n_tokens.astype(np.int64), kind="stable")
    long = np.maximum(n_tokens[order].astype(np.int64), 1)
    if lengths == "mixed":
        yield from _cheapest(order, long, budget)
        return
    starts = np.flatnonzero(np.diff(long, prepend=0))
    stops = np.append(starts[1:], len(order))
    common = (lengths == "equal") | (long[starts] * (stops - starts) * _RARE >= budget)
    # Neighbouring rare lengths are divided into batches together.
    cuts = np.flatnonzero(np.append(common[1:] | common[:-1], True)) + 1
    for first, stop in pairwise([0, *cuts.tolist()]) if len(order) else ():
        own = slice(int(starts[first]), int(stops[stop - 1]))
        if common[first]:
            most = max(budget // int(long[own.start]), 1)
            yield from (order[at : min(at + most, own.stop)] for at in range(own.start, own.stop, most))
        else:
            yield from _cheapest(order[own], long[own], budget)


def _cheapest(order: Int64s, long: Int64s, budget: int) -> list[Int64s]:
    """Return the rows `order`, whose lengths `long` are descending, divided into the batches with the lowest cost."""
    first = _last_batch_starts(long, budget, max(budget // _BATCHES_PER_BUDGET, 1))
    stop = len(order)
    batches = []
    while stop:
        batches.append(order[first[stop] : stop])
        stop = int(first[stop])
    return batches[::-1]


@compiled
def _last_batch_starts(lengths: Int64s, budget: int, own: int) -> Int64s:
    """Return for each n the start of the last batch in the cheapest division of the first n sentences."""
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
    """Yield each batch's sentence ids and tokens; the next batch is tokenized while the previous one is in use.

    The batches depend only on the sentence lengths, the budget and `lengths`, not on the process that reads them.

    Args:
        sent_ids: ids of the sentences, `[sentences]`.
        texts: the sentences.
        n_tokens: number of tokens of each sentence, including special tokens, `[sentences]`.
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
    """Return token ids (int64) and masks of real and of added tokens (bool), padded on the right.

    Each is `[sentences, longest]`.
    """
    block = TokenBlock.of(batch)
    lengths = block.lengths
    real = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(real.shape, pad_id, np.int32)
    ids[real] = block.ids
    added = np.zeros(real.shape, bool)
    added[real] = block.added
    return to_device(ids, device).long(), to_device(real, device), to_device(added, device)


def to_device(array: Arrays, device: torch.device) -> torch.Tensor:
    """Copy an array to a device; to a GPU through pinned memory and without waiting for the copy."""
    tensor = torch.from_numpy(array)
    # torch's cache of pinned memory reuses the memory only after pending copies are complete.
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
