"""Batches of a sample of the corpus, cut in the same way as in a pass of the model, to time that pass."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ops.estimate.spread import spread
from ops.model.batches import Lengths, encode_batches, length_batches
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids

_TOGETHER = 4  # number of batches that are tokenized at once


class Sentences(NamedTuple):
    """Some sentences: ids `[sentences]`, texts, and numbers of model tokens `[sentences]`."""

    sent_ids: Ids
    texts: list[str]
    n_tokens: Ids


class TimedBatches:
    """Yields batches of a sample, short and long ones mixed, until the time is up, and then estimates the total time.

    The time of a batch is related to its number of token positions, including padding, so that the lengths in the timed
    batches do not matter.

    Attributes:
        sentences: number of sentences in the batches so far.
        seconds: seconds from the request for the first batch to the end of the work on the last batch.
    """

    def __init__(
        self, sent_ids: Ids, texts: list[str], n_tokens: Ids, tokenizer: Tokenizer, budget: int, seconds: float,
        lengths: Lengths = "mixed",
    ) -> None:  # fmt: skip
        self._columns = (sent_ids, texts, n_tokens)
        self._tokenizer, self._budget, self._limit, self._lengths = tokenizer, budget, seconds, lengths
        self._batches = list(length_batches(n_tokens, budget, lengths))
        self._places = 0
        self.sentences, self.seconds = 0, 0.0

    def __iter__(self) -> Iterator[tuple[Ids, Sequence[Tokens]]]:
        sent_ids, texts, n_tokens = self._columns
        order = spread(len(self._batches))
        started = time.perf_counter()
        for start in range(0, len(order), _TOGETHER):
            rows = np.concatenate([self._batches[i] for i in order[start : start + _TOGETHER]])
            some = (sent_ids[rows], [texts[row] for row in rows], n_tokens[rows])
            for ids, tokens in encode_batches(*some, self._tokenizer, self._budget, self._lengths):
                yield ids, tokens
                self.sentences += len(ids)
                self._places += len(ids) * max(len(t.ids) for t in tokens)
                self.seconds = time.perf_counter() - started
                if self.seconds > self._limit:
                    return

    def seconds_for(self, sentences: int) -> float:
        """Return the seconds that one worker needs for `sentences` sentences like those of the sample."""
        if not self._places:
            return 0.0
        lengths = self._columns[2]
        places = sum(len(batch) * int(lengths[batch].max()) for batch in self._batches)
        return self.seconds * places / self._places * sentences / len(lengths)
