"""Models that read sentences: mean states of sentences and words, states at blanks, and the models' own heads."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch

from ops.arrays import Float32s, Int64s
from ops.meaning.words import fold, word_spans
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches, pad
from ops.model.check_states import equal_lengths
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts
from ops.model.tokenizer import PlacedTokens, Tokenizer, Tokens
from ops.shards import Ids
from ops.storage.arrays import read_arrays, write_arrays

_LOGITS_BUDGET = 512  # maximum tokens of a batch whose logits over the vocabulary are in memory at once
_CARRIER = "a "  # precedes a single word, so that tokenizers that mark spaces give it the tokens of running text


class ModelReader:
    """A model that reads sentences in batches.

    Creating a reader sets how torch computes in this process (`ops.model.numerics`).

    Args:
        device, dtype, threads, token_budget: the device, arithmetic and number of threads of the model, and the maximum
            number of tokens of a batch.

    Raises:
        InputError: the model cannot be loaded, or the states that are read differ from the model's own hidden states.
    """

    def __init__(
        self, facts: ModelFacts, tokenizer: Tokenizer, device: str, dtype: str, threads: int | None, token_budget: int
    ) -> None:
        self.tokenizer, self.token_budget, self.facts = tokenizer, token_budget, facts
        self.layers, self.width = facts.layers, facts.width
        self.scorer = Scorer(facts, ScoreOptions(device=device, dtype=dtype, threads=threads or 1), tokenizer.pad_id)
        self.equal_lengths = equal_lengths(self.scorer, tokenizer)

    def batches(self, tokens: Iterable[Tokens], most: int | None = None) -> Iterator[Int64s]:
        """Return the row indices of each batch; it has at most `most` tokens, if that is less than the budget."""
        lengths = np.array([len(own.ids) for own in tokens], np.int64)
        return length_batches(lengths, min(self.token_budget, most or self.token_budget), self.equal_lengths)


class Masked(NamedTuple):
    """A sentence with masked tokens: the tokens given to the model, the masked positions, and the original tokens."""

    tokens: Tokens
    places: list[int]
    truth: list[int]


class SentenceReader(ModelReader):
    """Reads the states of sentences, and has the model's own heads predict next sentences and masked tokens.

    A sentence's state is the mean over its tokens, including special tokens.
    """

    def read(self, tokens: Sequence[Tokens], layers: list[int] | None = None) -> Float32s:
        """Return the states of sentences in some layers (from 1) or all, `[sentences, layers, width]` float32."""
        wanted = layers or list(range(1, self.layers + 1))
        states = np.zeros((len(tokens), len(wanted), self.width), np.float32)
        for rows in self.batches(tokens):
            of_layers = self.scorer.score([tokens[row] for row in rows])
            for i, layer in enumerate(wanted):
                states[rows, i] = of_layers[layer - 1].cpu().numpy()
        return states

    @torch.inference_mode()
    def next_scores(self, head: torch.nn.Module, first: list[str], second: list[str]) -> Float32s:
        """Return the confidence of the model with its head that each second sentence is the next one, `[pairs]`.

        The confidence is the difference of the head's two logits; a value above 0 predicts IsNext (Devlin et al. 2019).
        """
        pairs = self.tokenizer.encode_pairs(first, second)
        scores = np.zeros(len(pairs), np.float32)
        for rows in self.batches(tokens for tokens, _ in pairs):
            ids, real, _ = pad([pairs[row][0] for row in rows], self.tokenizer.pad_id, self.scorer.device)
            types = torch.zeros_like(ids)
            for i, row in enumerate(rows):
                types[i, : len(pairs[row][1])] = torch.tensor(pairs[row][1], device=ids.device)
            logits = head(input_ids=ids, attention_mask=real.long(), token_type_ids=types).logits.float()
            scores[rows] = (logits[:, 0] - logits[:, 1]).cpu().numpy()
        return scores

    @torch.inference_mode()
    def masked_ranks(self, head: torch.nn.Module, masked: list[Masked]) -> tuple[Int64s, Float32s]:
        """Return the rank (1 for the most likely token) and the probability of the true token at each masked position.

        The ranks, `[places]` int64, and the probabilities, `[places]` float32, are in the order of the sentences. A tie
        with another token does not make the rank worse.
        """
        starts = np.cumsum([0, *(len(m.places) for m in masked)])
        ranks, probability = np.zeros(starts[-1], np.int64), np.zeros(starts[-1], np.float32)
        for rows in self.batches((m.tokens for m in masked), _LOGITS_BUDGET):
            ids, real, _ = pad([masked[row].tokens for row in rows], self.tokenizer.pad_id, self.scorer.device)
            logits = head(input_ids=ids, attention_mask=real.long()).logits
            for i, row in enumerate(rows):
                at_places = logits[i, masked[row].places].float()
                true = at_places.gather(1, torch.tensor(masked[row].truth, device=ids.device)[:, None])
                span = slice(starts[row], starts[row + 1])
                ranks[span] = ((at_places > true).sum(1) + 1).cpu().numpy()
                probability[span] = (true[:, 0] - at_places.logsumexp(1)).exp().cpu().numpy()
        return ranks, probability


class Blank(NamedTuple):
    """A sentence with a blank: its tokens, and the index of the token whose state is read."""

    tokens: Tokens
    place: int


class BlankReader(ModelReader):
    """Reads sentences in which a word is replaced by the mask token.

    A model without a mask token reads only the words before the blank. The tokenizer must report the positions of
    tokens.
    """

    @cached_property
    def mask(self) -> int | None:
        """The id of the mask token; None for a decoder and for a model without one."""
        return None if self.tokenizer.mask_id is None or is_decoder(self.facts) else self.tokenizer.mask_id

    def blanks(self, texts: list[str], spans: list[tuple[int, int]]) -> list[Blank | None]:
        """Return each sentence with the characters of its span blanked; None if nothing is left to read.

        This happens if the blank was cut off or, without a mask token, if the word is the first one.
        """
        if self.mask is None:
            return [self._last_token(text[:start].rstrip()) for text, (start, _) in zip(texts, spans, strict=True)]
        found: list[Blank | None] = []
        for (tokens, _, places), (start, stop) in zip(self.tokenizer.encode_with_spans(texts), spans, strict=True):
            word = [i for i, place in enumerate(places) if place is not None and place[0] < stop and start < place[1]]
            if word:
                blank = slice(word[0], word[-1] + 1)
                tokens.ids[blank], tokens.added[blank] = [self.mask], [0]
            found.append(Blank(tokens, word[0]) if word else None)
        return found

    def _last_token(self, text: str) -> Blank | None:
        (tokens,) = self.tokenizer.encode([text])
        indices = [i for i, added in enumerate(tokens.added) if not added]
        return Blank(tokens, indices[-1]) if indices and not tokens.cut else None

    def read(self, blanks: list[Blank]) -> Float32s:
        """Return the states at the blanks, `[blanks, layers, width]` float32."""
        states = np.zeros((len(blanks), self.layers, self.width), np.float32)
        for rows in self.batches(blank.tokens for blank in blanks):
            at = torch.tensor([blanks[row].place for row in rows], device=self.scorer.device)
            take = partial(_states_at, torch.arange(len(rows), device=self.scorer.device), at)
            of_layers = self.scorer.read_tokens([blanks[row].tokens for row in rows], [take] * self.layers)
            states[rows] = torch.stack(of_layers, 1).numpy()
        return states


def _states_at(sentence: torch.Tensor, token: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    return states[sentence, token].float().cpu()


def own_ids(tokens: Tokens) -> list[int]:
    """Return the ids of a sentence without the tokens that the tokenizer added."""
    return [number for number, added in zip(tokens.ids, tokens.added, strict=True) if not added]


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
        arrays = read_arrays(table)
        word, count = arrays["word"], arrays["count"]
        self.count[word] += count
        self.total[word] += arrays["mean"].astype(np.float64) * count[:, None]

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

    def read(self, sent_ids: Ids, texts: list[str], n_tokens: Ids, sums: WordSums) -> list[int]:
        """Add the words of sentences; return the ids of those that were skipped because a state is not finite."""
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

        reader, inputs = self.scorer.reader, {"input_ids": ids, "attention_mask": real.long()}
        states = torch.cat(reader.read(inputs, [take] * reader.layers), 1).numpy()
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
    occurrences, places = (np.array(pairs, np.int64).reshape(-1, 2).T for pairs in (words, tokens_of))
    return occurrences[0], occurrences[1], places[0], places[1]


def embedded(words: Iterable[str], table: torch.Tensor, tokenizer: Tokenizer) -> Float32s:
    """Return the mean of the token embeddings of each word's tokens, `[words, width]` float32.

    Args:
        words: the words, each tokenized as in running text.
        table: the token embeddings, `[vocabulary, width]`.
        tokenizer: the model's tokenizer, which must report the positions of tokens.
    """
    vectors = []
    for tokens, _, spans in tokenizer.encode_with_spans([_CARRIER + word for word in words]):
        ids = [i for i, span in zip(tokens.ids, spans, strict=True) if span is not None and span[1] > len(_CARRIER)]
        vectors.append(table[ids].float().mean(0).numpy() if ids else np.zeros(table.shape[1], np.float32))
    return np.array(vectors, np.float32)
