"""One forward pass over some sentences: the activation of each winner's neuron at each token, and its peak."""

from dataclasses import dataclass

import numpy as np
import torch

from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from ops.model.activations import Scorer
from ops.model.batches import length_batches
from ops.model.pooling import Pooler
from ops.model.tokenizer import PlacedTokens
from ops.tokens.winners import Winners

TOLERANCE = 1e-5  # for a pooled activation: absolute, or relative to its absolute value if that is above 1


@dataclass(frozen=True)
class TokenActivations:
    """The activations of winners at each token, in the order of the given winners.

    Attributes:
        offsets: the index in `values` at which each winner's tokens begin, followed by the end, `[winners + 1]`.
        values: the activation of the winner's neuron at each token, `[tokens of all winners]`.
        peak: the index of the word at whose tokens the activation is highest (bottom: lowest), among the tokens that
            count, `[winners]`; -1 if none of them belongs to a word.
        difference: absolute difference between the pooled values and the winners' activations, `[winners]`.
    """

    offsets: Int64s
    values: Float32s
    peak: Int32s
    difference: Float64s


def read_tokens(
    scorer: Scorer,
    winners: Winners,
    placed: list[PlacedTokens],
    words: list[Int32s],
    budget: int,
    equal_lengths: bool = False,
) -> TokenActivations:
    """Return the activation of each winner's neuron at each token; the result depends only on the arguments.

    Args:
        winners: the winners, sorted by sentence; every sentence has at least one winner.
        words: for each sentence, the word to which each token belongs, or -1 for none (`words_of_tokens`).
        budget, equal_lengths: the arguments of `length_batches`.
    """
    n_tokens = np.array([len(p.tokens.ids) for p in placed], np.int64)
    starts = np.searchsorted(winners.sentence, np.arange(len(placed) + 1))
    offsets = np.concatenate([[0], np.cumsum(n_tokens[winners.sentence])]).astype(np.int64)
    values = np.zeros(offsets[-1], np.float32)
    peak = np.full(len(winners.sentence), -1, np.int32)
    pooled = np.zeros(len(winners.sentence))
    for rows in length_batches(n_tokens, budget, equal_lengths):
        batch = [placed[row].tokens for row in rows]
        row = np.repeat(np.arange(len(rows)), starts[rows + 1] - starts[rows])
        index = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in rows])
        order = np.argsort(winners.layer[index], kind="stable")
        row, index = row[order], index[order]
        places = torch.from_numpy(row), torch.from_numpy(winners.unit[index])
        spans = [slice(*np.searchsorted(winners.layer[index], [layer, layer + 1])) for layer in scorer.layers]
        activations = scorer.read_units(batch, [(places[0][span], places[1][span]) for span in spans]).cpu().numpy()

        inputs, of_sentences, _ = scorer.prepare(batch)
        real, counted = inputs["attention_mask"].bool().cpu().numpy(), of_sentences.counted.cpu()
        at = offsets[index][:, None] + np.arange(activations.shape[1])
        values[at[real[row]]] = activations[real[row]]
        # Each winner is pooled as if it were a sentence with one unit, in float64.
        pooler = Pooler(scorer.options.pool, counted[row], queued=True)
        pooled[index] = pooler(torch.from_numpy(activations).double()[..., None])[:, 0].numpy()
        word = np.full(real.shape, -1, np.int32)
        word[real] = np.concatenate([words[i] for i in rows])
        word[~counted.numpy()] = -1
        highest = np.where(word[row] >= 0, activations * winners.sign[index][:, None], -np.inf).argmax(1)
        peak[index] = word[row, highest]
    return TokenActivations(offsets, values, peak, np.abs(pooled - winners.activation))


def beyond(difference: Float64s, activation: Float32s) -> Bools:
    """Return for which winners the pooled value differs from the given activation by more than `TOLERANCE`."""
    return np.asarray(~(difference <= TOLERANCE * np.maximum(1.0, np.abs(activation))))
