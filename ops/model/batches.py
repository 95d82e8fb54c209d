"""Batches of one shard: sentences of like length together, by a budget of tokens, and their tokens as tensors."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch

from ops.compiled import compiled
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids

_BATCHES_PER_BUDGET = 64  # What a batch costs whatever it holds: on a CPU about 32 of 2,048 tokens' time (measured).


def length_batches(
    n_tokens: npt.NDArray[np.integer], budget: int, alike: bool = False
) -> Iterator[npt.NDArray[np.int64]]:
    """Return the row numbers of each batch, longest sentences first; a function of the lengths and the budget alone.

    Of all ways to cut the sentences, sorted by length, into batches within the budget, this is the one that costs
    least: the tokens of its batches, padding included, and for each batch a 64th of the budget.

    Args:
        n_tokens: tokens of each sentence, special ones included, `[sentences]`.
        budget: most tokens of a batch, padding included; a longer sentence makes a batch of its own.
        alike: let a batch hold sentences of one length alone, so that there is no padding.
    """
    order = np.argsort(-n_tokens.astype(np.int64), kind="stable")
    lengths = np.maximum(n_tokens[order].astype(np.int64), 1)
    if alike:
        for same in np.split(order, np.flatnonzero(np.diff(lengths)) + 1):
            most = max(budget // int(n_tokens[same].max(initial=1)), 1)
            yield from (same[first : first + most] for first in range(0, len(same), most))
        return
    first = _last_batch_starts(lengths, budget, max(budget // _BATCHES_PER_BUDGET, 1))
    stop = len(order)
    batches = []
    while stop:
        batches.append(order[first[stop] : stop])
        stop = int(first[stop])
    yield from reversed(batches)


@compiled
def _last_batch_starts(lengths: npt.NDArray[np.int64], budget: int, own: int) -> npt.NDArray[np.int64]:
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
    sent_ids: Ids, texts: list[str], n_tokens: Ids, tokenizer: Tokenizer, budget: int, alike: bool = False
) -> Iterator[tuple[Ids, list[Tokens]]]:
    """Return each batch's sentence ids and tokens; the next batch is tokenized while one is in use.

    The batches depend on the shard's lengths and the budget alone, never on who runs them.

    Args:
        sent_ids: ids of the sentences, `[sentences]`.
        texts: the sentences.
        n_tokens: tokens of each sentence, special ones included, `[sentences]`.
        tokenizer: the model's tokenizer.
        budget, alike: as `length_batches` takes them.
    """
    rows = list(length_batches(n_tokens, budget, alike))
    with ThreadPoolExecutor(1) as ahead:

        def start(i: int) -> Future[list[Tokens]]:
            return ahead.submit(tokenizer.encode, [texts[row] for row in rows[i]])

        coming = start(0) if rows else None
        for i, batch in enumerate(rows):
            assert coming is not None
            tokens = coming.result()
            coming = start(i + 1) if i + 1 < len(rows) else None
            yield sent_ids[batch], tokens


def pad(batch: list[Tokens], pad_id: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids (int64), real tokens and added tokens (bool), each `[sentences, longest]`, padded on the right."""
    lengths = np.array([len(t.ids) for t in batch])
    real = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(real.shape, pad_id, np.int64)
    ids[real] = np.fromiter(chain.from_iterable(t.ids for t in batch), np.int64, lengths.sum())
    added = np.zeros(real.shape, bool)
    added[real] = np.fromiter(chain.from_iterable(t.added for t in batch), bool, lengths.sum())
    return torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device), torch.from_numpy(added).to(device)
