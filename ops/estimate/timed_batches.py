"""The time of a pass of a model over the corpus, from a sample of sentences in batches cut as in that pass."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ops.model.batches import TokenBlock, encode_batches, length_batches
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids, spans

_TOGETHER = 4  # number of batches that are tokenized at once


class Sentences(NamedTuple):
    """Some sentences: ids `[sentences]`, texts, and numbers of model tokens `[sentences]`."""

    sent_ids: Ids
    texts: list[str]
    n_tokens: Ids


def spread(count: int) -> list[int]:
    """Return the numbers from 0 to `count` - 1 in an order in which every prefix is evenly spread.

    >>> spread(8)
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    bits = max(count - 1, 0).bit_length()
    reversed_bits = (int(f"{i:0{bits}b}"[::-1], 2) if bits else 0 for i in range(1 << bits))
    return [i for i in reversed_bits if i < count]


def seconds_of_a_sentence(
    sample: Sentences,
    tokenizer: Tokenizer,
    budget: int,
    read: Callable[[Sequence[Tokens]], object],
    limit: float,
) -> float:
    """Return the mean seconds that one worker needs to tokenize and read a sentence of a sample.

    Short and long batches are read in turn until the time is up. The time of a batch is related to its number of token
    positions, including padding, so that the lengths in the timed batches do not matter.

    Args:
        limit: the seconds after which no further batch is read.
    """
    batches = list(length_batches(sample.n_tokens, budget))
    order = spread(len(batches))

    def encoded(first: int, stop: int) -> Iterator[tuple[Ids, TokenBlock]]:
        rows = np.concatenate([batches[i] for i in order[first:stop]])
        texts = [sample.texts[row] for row in rows]
        return encode_batches(sample.sent_ids[rows], texts, sample.n_tokens[rows], tokenizer, budget)

    started, seconds, places = time.perf_counter(), 0.0, 0
    for ids, tokens in chain.from_iterable(encoded(*span) for span in spans(len(order), _TOGETHER)):
        read(tokens)
        places += len(ids) * max(len(t.ids) for t in tokens)
        seconds = time.perf_counter() - started
        if seconds > limit:
            break
    every = sum(len(batch) * int(sample.n_tokens[batch].max()) for batch in batches)
    return seconds * every / places / len(sample.texts) if places else 0.0
