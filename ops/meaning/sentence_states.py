"""The mean state of a sentence in every layer, and the predictions of a model's heads for pairs and masked tokens."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from ops.arrays import Float32s, Int64s
from ops.meaning.model_reader import ModelReader, lengths_of
from ops.model.batches import length_batches, pad
from ops.model.tokenizer import Tokens

_LOGITS_BUDGET = 512  # maximum tokens of a batch whose logits over the vocabulary are in memory at once


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
        """Return the states of sentences, `[sentences, layers, width]` float32.

        Args:
            tokens: the tokens of each sentence.
            layers: the layers to return, from 1; None for all.
        """
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

        Args:
            head: the model with its head that predicts masked tokens.
            masked: the sentences.

        Returns:
            The ranks, `[places]` int64, and the probabilities, `[places]` float32, sentence by sentence. A tie with
            another token does not make the rank worse.
        """
        starts = np.cumsum([0, *(len(m.places) for m in masked)])
        ranks, probability = np.zeros(starts[-1], np.int64), np.zeros(starts[-1], np.float32)
        budget = min(self.token_budget, _LOGITS_BUDGET)
        for rows in length_batches(lengths_of(m.tokens for m in masked), budget, self.lengths):
            ids, real, _ = pad([masked[row].tokens for row in rows], self.tokenizer.pad_id, self.scorer.device)
            logits = head(input_ids=ids, attention_mask=real.long()).logits
            for i, row in enumerate(rows):
                at_places = logits[i, masked[row].places].float()
                true = at_places.gather(1, torch.tensor(masked[row].truth, device=ids.device)[:, None])
                span = slice(starts[row], starts[row + 1])
                ranks[span] = ((at_places > true).sum(1) + 1).cpu().numpy()
                probability[span] = (true[:, 0] - at_places.logsumexp(1)).exp().cpu().numpy()
        return ranks, probability


def cosines(states: Float32s, others: Float32s) -> Float32s:
    """Return the cosine of each pair of states over the last axis, computed in float64 and rounded to float32."""
    a, b = states.astype(np.float64), others.astype(np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(-1) / lengths, np.float32)


def overlap(first: list[int], second: list[int]) -> float:
    """Return the number of shared distinct tokens, divided by the square root of the product of both distinct counts.

    >>> overlap([1, 2, 2], [2, 3])
    0.5
    """
    a, b = set(first), set(second)
    return len(a & b) / max(math.sqrt(len(a) * len(b)), 1.0)


def own_ids(tokens: Tokens) -> list[int]:
    """Return the ids of a sentence without the tokens that the tokenizer added."""
    return [number for number, added in zip(tokens.ids, tokens.added, strict=True) if not added]
