"""The mean state of each word over sentences in every layer, and its vector in the token embeddings."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import torch

from ops.arrays import Float32s, Int64s
from ops.meaning.readers import ModelReader
from ops.meaning.words import fold, word_spans
from ops.model.batches import length_batches, pad
from ops.model.load import ModelFacts
from ops.model.tokenizer import PlacedTokens, Tokenizer
from ops.shards import Ids
from ops.storage.arrays import read_arrays, write_arrays

_CARRIER = "a "  # precedes a single word, so that tokenizers that mark spaces give it the tokens of running text


class WordSums:
    """Sums of the states of words over sentences.

    The sums of disjoint sets of sentences can be merged. They are float64, so that merging is exact to float32. A state
    has `columns` values, with all layers concatenated.
    """

    def __init__(self, words: int, columns: int) -> None:
        self.count = np.zeros(words, np.int64)
        self.total = np.zeros((words, columns), np.float64)

    def update(self, word: Int64s, states: Float32s) -> None:
        """Add the states `[occurrences, columns]` of some words."""
        np.add.at(self.count, word, 1)
        torch.from_numpy(self.total).index_add_(0, torch.from_numpy(word), torch.from_numpy(states).double())

    def merge_table(self, table: pa.Table) -> None:
        """Add the sums that `to_table` stored."""
        own = read_arrays(table)
        word, count = own["word"], own["count"]
        self.count[word] += count
        self.total[word] += own["mean"].astype(np.float64) * count[:, None]

    def to_table(self) -> pa.Table:
        """Return the words that occur as a table of arrays: `word`, `count`, `mean` (float32, layers concatenated)."""
        word = np.flatnonzero(self.count)
        mean = (self.total[word] / self.count[word, None]).astype(np.float32)
        return write_arrays(word=word, count=self.count[word], mean=mean)


class WordReader(ModelReader):
    """A model that reads sentences and adds up the states of words.

    Args:
        facts, tokenizer, device, dtype, threads, token_budget: as `ModelReader` takes them; the tokenizer must report
            the positions of tokens.
        words, case: the words whose states are summed, and their folding (`keep` or `lower`).
    """

    def __init__(
        self, facts: ModelFacts, tokenizer: Tokenizer, device: str, dtype: str, threads: int | None, token_budget: int,
        words: list[str], case: str,
    ) -> None:  # fmt: skip
        super().__init__(facts, tokenizer, device, dtype, threads, token_budget)
        self.case, self.numbers = case, {word: i for i, word in enumerate(words)}

    def empty(self) -> WordSums:
        """Return empty sums."""
        return WordSums(len(self.numbers), self.layers * self.width)

    def read(self, corpus: tuple[Ids, list[str], Ids], sums: WordSums) -> list[int]:
        """Add the words of sentences: ids, texts and token counts, as `read_shard` returns them.

        Returns:
            The ids of the sentences that were skipped because one of their states is not finite.
        """
        sent_ids, texts, n_tokens = corpus
        lost: list[int] = []
        for rows in length_batches(n_tokens, self.token_budget, self.equal_lengths):
            lost += sent_ids[rows[self._read_batch([texts[row] for row in rows], sums)]].tolist()
        return lost

    @torch.inference_mode()
    def _read_batch(self, texts: list[str], sums: WordSums) -> Int64s:
        """Add the words of one batch; return the rows of the batch that were skipped."""
        encoded = self.tokenizer.encode_with_spans(texts)
        ids, real, _ = pad([placed.tokens for placed in encoded], self.tokenizer.pad_id, self.scorer.device)
        word, sentence, places, owners = find_words(texts, encoded, self.numbers, self.case, ids.shape[1])
        each, place, owner = (
            torch.from_numpy(values).to(self.scorer.device)
            for values in (np.bincount(owners, minlength=len(word)), places, owners)
        )

        def take(states: torch.Tensor) -> torch.Tensor:
            tokens = states.flatten(0, 1)[place].float()
            mean = torch.zeros(len(word), tokens.shape[1], device=self.scorer.device).index_add_(0, owner, tokens)
            return (mean / each[:, None]).cpu()

        states = torch.cat(self.scorer.reader.read({"input_ids": ids, "attention_mask": real.long()}, take), 1).numpy()
        bad = np.unique(sentence[~np.isfinite(states).all(1)])
        good = ~np.isin(sentence, bad)
        sums.update(word[good], states[good])
        return bad


def find_words(
    texts: list[str], encoded: list[PlacedTokens], numbers: dict[str, int], case: str, longest: int
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Find the tokens of the words in a batch.

    A token belongs to the first word with which it shares a character. A word that was partly truncated is skipped.

    Args:
        texts, encoded: the sentences, and their tokens with the tokens' positions.
        numbers, case: the index of each word to find, and the folding (`keep` or `lower`).
        longest: number of tokens of a row of the batch, including padding.

    Returns:
        For each occurrence, the index of the word and the row of its sentence, `[occurrences]` each. And for each token
        of an occurrence, its index in the flattened batch (row by row) and the index of the occurrence, `[tokens]`.
    """
    words: list[tuple[int, int]] = []  # the index and the row of each occurrence
    tokens_of: list[tuple[int, int]] = []  # the place of each token, and its occurrence
    for row, (text, (tokens, _, spans)) in enumerate(zip(texts, encoded, strict=True)):
        placed = [(i, *span) for i, span in enumerate(spans) if span is not None and span[1] > span[0]]
        seen = placed[-1][2] if tokens.cut and placed else len(text)
        at = 0
        for start, stop in word_spans(text):
            while at < len(placed) and placed[at][2] <= start:
                at += 1
            first = at
            while at < len(placed) and placed[at][1] < stop:
                at += 1
            number = numbers.get(fold(text[start:stop], case))
            if number is not None and at > first and stop <= seen:
                tokens_of += [(row * longest + placed[i][0], len(words)) for i in range(first, at)]
                words.append((number, row))
    found, places = (np.array(pairs, np.int64).reshape(-1, 2).T for pairs in (words, tokens_of))
    return found[0], found[1], places[0], places[1]


def embedded(words: Iterable[str], table: torch.Tensor, tokenizer: Tokenizer) -> Float32s:
    """Return the mean of the token embeddings of each word's tokens, `[words, width]` float32.

    Args:
        words: the words, each tokenized as in running text.
        table: the token embeddings, `[vocabulary, width]`.
        tokenizer: the model's tokenizer, which must report the positions of tokens.
    """
    vectors = []
    for tokens, _, spans in tokenizer.encode_with_spans([_CARRIER + word for word in words]):
        own = [i for i, span in zip(tokens.ids, spans, strict=True) if span is not None and span[1] > len(_CARRIER)]
        vectors.append(table[own].float().mean(0).numpy() if own else np.zeros(table.shape[1], np.float32))
    return np.array(vectors, np.float32)
