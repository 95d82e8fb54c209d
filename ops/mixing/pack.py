"""Consecutive sentences of a document, joined into longer sequences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ops.arrays import Int64s


@dataclass(frozen=True)
class Packed:
    """Sequences of complete sentences, in order.

    Attributes:
        first: id of each sequence's first sentence, `[sequences]` int64.
        sentences: number of sentences of each sequence, `[sequences]` int64.
        texts: the text of each sequence, which consists of the sentences joined by spaces.
        n_tokens: number of model tokens of each sequence, computed from the sentences' counts with the special tokens
            counted once, `[sequences]` int64.
    """

    first: Int64s
    sentences: Int64s
    texts: list[str]
    n_tokens: Int64s

    def sentences_per_sequence(self) -> dict[int, int]:
        """Return the number of sentences of each sequence, as a mapping from the id of its first sentence."""
        return dict(zip(self.first.tolist(), self.sentences.tolist(), strict=True))


def pack(
    sent_ids: Int64s, texts: Sequence[str], n_tokens: Int64s, documents: Sequence[object], limit: int, added: int
) -> Packed:
    """Join consecutive sentences of one document into sequences with as many sentences as fit.

    A sentence that is longer than the limit is its own sequence. Sentences also count as consecutive if ingest dropped
    other sentences between them (copies, rejects, sentences outside the sample).

    Args:
        sent_ids, texts, n_tokens: the id, text and number of tokens of each sentence; special tokens are counted.
        documents: a value that identifies each sentence's document.
        limit: maximum number of tokens in a sequence, including special ones; 0 keeps every sentence separate.
        added: number of special tokens that the tokenizer adds to a text.

    >>> ids = np.arange(4)
    >>> pack(ids, ["a", "b", "c", "d"], np.full(4, 5), ["x", "x", "x", "y"], 8, 2).texts
    ['a b', 'c', 'd']
    """
    starts: list[int] = []
    lengths: list[int] = []
    for i, tokens in enumerate(n_tokens.tolist()):
        own = tokens - added
        if starts and documents[i] == documents[i - 1] and lengths[-1] + own <= limit:
            lengths[-1] += own
        else:
            starts.append(i)
            lengths.append(tokens)
    stop = [*starts[1:], len(n_tokens)] if starts else []
    joined = [" ".join(texts[a:b]) for a, b in zip(starts, stop, strict=True)]
    begin = np.array(starts, np.int64)
    return Packed(sent_ids[begin], np.array(stop, np.int64) - begin, joined, np.array(lengths, np.int64))
