"""Batches of one shard: sentences of similar length, up to a budget of tokens, and their tokens as arrays."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import torch

from ops.arrays import Arrays, Bools, Int32s, Int64s, Integers
from ops.compiled import compiled
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids

_BATCHES_PER_BUDGET = 64  # A batch's fixed cost is 1/64 of the budget: on a CPU the time of about 32 of 2,048 tokens.
ON_CPU = 2_048  # fits the caches of a core
ON_LARGE_GPU = 131_072  # keeps a GPU of 80 GB busy while the host launches the next batch
LARGE_BYTES = 80e9
# The driver and error correction reserve a part of a GPU's nominal memory: an L4 of 24 GB shows 23.7.
SHOWN = 0.9


@dataclass(frozen=True)
class TokenBlock(Sequence[Tokens]):
    """The tokens of some sentences, which also works as a sequence of `Tokens`.

    Attributes:
        ids: the token ids of all sentences, one sentence after another, `[tokens]` int32.
        added: which tokens the tokenizer added, `[tokens]` bool.
        offsets: where each sentence's tokens begin, and where the last sentence's end, `[sentences + 1]` int64.
        cut: the number of tokens of each sentence that were cut off at the limit, `[sentences]` int32.
    """

    ids: Int32s
    added: Bools
    offsets: Int64s
    cut: Int32s

    @classmethod
    def of(cls, sentences: Sequence[Tokens]) -> "TokenBlock":
        """Return a block of these sentences; a block is returned unchanged."""
        if isinstance(sentences, TokenBlock):
            return sentences
        offsets = np.cumsum([0, *(len(t.ids) for t in sentences)], dtype=np.int64)
        total = int(offsets[-1])
        return cls(
            np.fromiter(chain.from_iterable(t.ids for t in sentences), np.int32, total),
            np.fromiter(chain.from_iterable(t.added for t in sentences), bool, total),
            offsets,
            np.fromiter((t.cut for t in sentences), np.int32, len(sentences)),
        )

    @classmethod
    def joined(cls, blocks: Sequence["TokenBlock"]) -> "TokenBlock":
        """Return the sentences of one or more blocks as one block."""
        sizes = np.array([len(block.ids) for block in blocks], np.int64)
        starts = np.cumsum(sizes) - sizes
        offsets = [blocks[0].offsets[:1], *(b.offsets[1:] + at for b, at in zip(blocks, starts, strict=True))]
        names = ("ids", "added", "cut")
        ids, added, cut = (np.concatenate([getattr(block, name) for block in blocks]) for name in names)
        return cls(ids, added, np.concatenate(offsets), cut)

    def take(self, sentences: Int64s) -> "TokenBlock":
        """Return the sentences with these indices, in this order, as a block."""
        lengths = self.lengths[sentences]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        place = np.arange(offsets[-1]) + np.repeat(self.offsets[sentences] - offsets[:-1], lengths)
        return TokenBlock(self.ids[place], self.added[place], offsets, self.cut[sentences])

    def __len__(self) -> int:
        return len(self.cut)

    def __getitem__(self, sentence: int) -> Tokens:  # type: ignore[override]  # a slice is no block
        place = range(len(self))[sentence]
        own = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return Tokens(self.ids[own].tolist(), self.added[own].astype(int).tolist(), int(self.cut[place]))

    @property
    def lengths(self) -> Int64s:
        """The number of tokens of each sentence, `[sentences]`."""
        return np.diff(self.offsets)

    @property
    def of_one_length(self) -> bool:
        """Whether all sentences have the same number of tokens, so that a batch of them has no padding."""
        return len(self) > 0 and bool((self.lengths == self.lengths[0]).all())


def token_budget(gpu_bytes: int | None) -> int:
    """Return the maximum number of tokens of a batch, including padding.

    On a GPU, a token of bert-base takes about 50 kB. This follows from the shapes of the forward pass in float32: three
    times the feed-forward's 3,072 units and five times the 768 units of the states. `--site mlp` adds the 36,864 pooled
    units of each sentence, which is 7 kB a token in sentences of 22 tokens. So 131,072 tokens take 8 of 80 GB. The rest
    is for the model, the reducer's state (16 GB at K = 10,000, more under `mlp`) and the attention of long sentences.
    A GPU with half the memory gets half the batch. More than 80 GB does not increase the batch, because the kernels are
    already busy.

    Args:
        gpu_bytes: memory of a worker's GPU in bytes, as its driver reports it; None on a CPU.

    >>> [token_budget(int(gb * 1e9)) for gb in (150.1, 85.0, 47.7, 42.3, 23.7, 15.8)]
    [131072, 131072, 65536, 65536, 32768, 16384]
    """
    if gpu_bytes is None:
        return ON_CPU
    budget, least = ON_LARGE_GPU, SHOWN * LARGE_BYTES
    while gpu_bytes < least and budget > ON_CPU:
        budget, least = budget // 2, least / 2
    return budget


def length_batches(n_tokens: Integers, budget: int, equal_lengths: bool = False) -> Iterator[Int64s]:
    """Yield the row indices of each batch, longest sentences first; the result depends only on the arguments.

    Sentences are sorted by length and divided into batches within the budget at the lowest cost. The cost is the number
    of tokens of all batches, including padding, plus 1/64 of the budget for each batch. Batches of one length,
    without any padding, make the scorer 1 to 9 % slower on an H200, because there are more of them.

    Args:
        n_tokens: number of tokens of each sentence, including special tokens, `[sentences]`.
        budget: maximum number of tokens of a batch, including padding; a longer sentence is a batch of its own.
        equal_lengths: whether padding changes what the model computes, so that a batch must have sentences of one
            length.
    """
    order = np.argsort(-n_tokens.astype(np.int64), kind="stable")
    long = np.maximum(n_tokens[order].astype(np.int64), 1)
    if equal_lengths:
        for rows in np.split(order, np.flatnonzero(np.diff(long)) + 1) if len(order) else ():
            most = max(budget // max(int(n_tokens[rows[0]]), 1), 1)
            yield from (rows[at : at + most] for at in range(0, len(rows), most))
        return
    first = _last_batch_starts(long, budget, max(budget // _BATCHES_PER_BUDGET, 1))
    stops = [len(order)]
    while stops[-1]:
        stops.append(int(first[stops[-1]]))
    yield from (order[start:stop] for start, stop in pairwise(reversed(stops)))


@compiled
def _last_batch_starts(lengths: Int64s, budget: int, batch_cost: int) -> Int64s:
    """Return for each n the start of the last batch in the cheapest division of the first n sentences."""
    cost = np.zeros(len(lengths) + 1, np.int64)
    first = np.zeros(len(lengths) + 1, np.int64)
    for stop in range(1, len(lengths) + 1):
        start = stop - 1
        cost[stop] = cost[start] + lengths[start] + batch_cost
        first[stop] = start
        start -= 1
        while start >= 0 and lengths[start] * (stop - start) <= budget:
            total = cost[start] + lengths[start] * (stop - start) + batch_cost
            if total < cost[stop]:
                cost[stop] = total
                first[stop] = start
            start -= 1
    return first


def encode_batches(
    sent_ids: Ids, texts: list[str], n_tokens: Ids, tokenizer: Tokenizer, budget: int, equal_lengths: bool = False
) -> Iterator[tuple[Ids, TokenBlock]]:
    """Yield each batch's sentence ids and tokens; the next batch is tokenized while the previous one is in use.

    The batches depend only on the sentence lengths, the budget and `equal_lengths`, not on the process that reads them.

    Args:
        sent_ids: ids of the sentences, `[sentences]`.
        n_tokens: number of tokens of each sentence, including special tokens, `[sentences]`.
        budget, equal_lengths: as `length_batches` takes them.
    """
    batches = list(length_batches(n_tokens, budget, equal_lengths))

    def encode(rows: Int64s) -> TokenBlock:
        return TokenBlock.of(tokenizer.encode([texts[row] for row in rows]))

    with ThreadPoolExecutor(1) as ahead:
        coming = deque(ahead.submit(encode, rows) for rows in batches[:1])
        for i, rows in enumerate(batches, 1):
            tokens = coming.popleft().result()
            coming.extend(ahead.submit(encode, later) for later in batches[i : i + 1])
            yield sent_ids[rows], tokens


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
