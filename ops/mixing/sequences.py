"""The sequences that a model reads for mixing: sentences of a shard, packed, tokenized and masked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s
from ops.mixing.shard import Batches
from ops.model.batches import TokenBlock, encode_batches
from ops.model.tokenizer import Tokenizer, mask_tokens

COLUMNS = ["sent_id", "text", "n_tokens", "dataset", "doc_id"]


@dataclass(frozen=True)
class SequenceReader:
    """Reads sentences as the sequences that are measured.

    Attributes:
        token_budget: maximum number of tokens of a batch.
        pack: maximum number of tokens of a sequence of consecutive sentences; 0 makes each sentence a sequence.
        mask_rate: the share of the tokens that are replaced by the mask token.
        seed: the seed of the draw of these tokens.
    """

    tokenizer: Tokenizer
    token_budget: int
    pack: int
    mask_rate: float
    seed: int

    def packed(self, table: pa.Table) -> tuple[dict[int, int], Batches]:
        """Return the packed sequences of sentences, a table with `COLUMNS`: their sizes, and the masked batches.

        Each sequence is identified by its first sentence, and its size is its number of sentences.
        """
        documents = list(zip(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), strict=True))
        each, alone = table["text"].to_pylist(), table["n_tokens"].to_numpy().astype(np.int64)
        more = self._more_tokens(each)
        starts = sequence_starts(alone, more, documents, self.pack)
        stops, first = np.append(starts[1:], len(table)), table["sent_id"].to_numpy()[starts]
        texts = [" ".join(each[start:stop]) for start, stop in zip(starts, stops, strict=True)]
        sizes = alone[starts] + np.add.reduceat(more, starts) - more[starts]
        batches = encode_batches(first, texts, sizes, self.tokenizer, self.token_budget)
        return dict(zip(first.tolist(), (stops - starts).tolist(), strict=True)), self.masked(batches)

    def _more_tokens(self, texts: list[str]) -> Int64s:
        """Return by how many tokens each sentence makes a sequence longer, `[sentences]`.

        These need not be those of the sentence alone, because some tokenizers, such as GPT-2's, tell a word after a
        space from the same word at the beginning of a text.
        """
        first = len(self.tokenizer.encode(["a"])[0].ids)
        after = self.tokenizer.encode([f"a {text}" for text in texts])
        return np.array([len(tokens.ids) + tokens.cut - first for tokens in after], np.int64)

    def masked(self, batches: Batches) -> Batches:
        """Yield batches in which some of the tokens are replaced by the mask token."""
        tokenizer = self.tokenizer
        special = (tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id, tokenizer.pad_id)
        spared = frozenset(i for i in special if i is not None) - {tokenizer.unknown_id}
        for first, batch in batches:
            if self.mask_rate and tokenizer.mask_id is not None:
                rate, mask, seed = self.mask_rate, tokenizer.mask_id, self.seed
                batch = [
                    mask_tokens(tokens, rate, mask, spared, seed, sent_id, self.pack > 0)
                    for tokens, sent_id in zip(batch, first.tolist(), strict=True)
                ]
            yield first, TokenBlock.of(batch)


def sequence_starts(alone: Int64s, more: Int64s, documents: Sequence[object], limit: int) -> Int64s:
    """Return the index of the first sentence of each sequence of as many consecutive sentences of a document as fit.

    A sentence that is longer than the limit is its own sequence. Sentences also count as consecutive if ingest dropped
    other sentences between them (copies, rejects, sentences outside the sample).

    Args:
        alone: the number of tokens of each sentence by itself, special ones included.
        more: by how many tokens it makes a sequence longer.
        documents: its document.
        limit: maximum number of tokens in a sequence, including special ones.

    >>> sequence_starts(np.full(4, 5), np.full(4, 3), ["x", "x", "x", "y"], 8).tolist()
    [0, 2, 3]
    """
    starts: list[int] = []
    length = 0
    for i, (whole, added) in enumerate(zip(alone.tolist(), more.tolist(), strict=True)):
        if starts and documents[i] == documents[i - 1] and length + added <= limit:
            length += added
        else:
            starts.append(i)
            length = whole
    return np.array(starts, np.int64)
