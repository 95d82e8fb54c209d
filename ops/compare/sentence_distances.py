"""Distances in each sentence and layer between two models, or two runs, on the same sentences."""

from collections.abc import Sequence

import numpy as np
import torch

from ops.arrays import Arrays, Float64s, Int64s
from ops.compare.activation_vectors import common_rows, layer_activations, sampled_sentences
from ops.compare.model_shift import jaccards, layer_distances, rank_correlations
from ops.corpus.read_shard import read_rows
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import batch_lengths, length_batches
from ops.model.check_states import equal_lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sentences.codes import document_codes
from ops.shards import Shards
from ops.storage.store import Store
from ops.topk.neurons import Neurons, neuron_and_pole, parts, set_number
from ops.topk.winner_groups import winner_groups


class TwoModels:
    """Two models that read the same sentences, in the same batches.

    Args:
        facts: the facts of both models. Neurons with the same number are counterparts.
        scoring: how activations are taken.
        token_budget: the token budget of a batch.
        neurons: the neurons of one model.
    """

    def __init__(
        self, facts: tuple[ModelFacts, ModelFacts], scoring: ScoreOptions, token_budget: int, neurons: Neurons
    ) -> None:
        self.token_budget, self.neurons = token_budget, neurons
        self.tokenizers = [Tokenizer(own) for own in facts]
        self.scorers = [
            Scorer(own, scoring, tokenizer.pad_id) for own, tokenizer in zip(facts, self.tokenizers, strict=True)
        ]
        leaks = [equal_lengths(*pair) for pair in zip(self.scorers, self.tokenizers, strict=True)]
        self.lengths = batch_lengths(scoring.device, any(leaks))

    def distances(self, texts: Sequence[str], n_tokens: Int64s) -> tuple[Float64s, Float64s]:
        """Return the distances between the models; sentences that are not finite in one of them are skipped.

        Args:
            texts, n_tokens: the sentences, and their token counts, by which they are batched.

        Returns:
            Each neuron's sum of absolute differences, `[neurons]`; and the sentences' Manhattan and squared Euclidean
            distances, `[2, sentences, layers]`, which are NaN if the sentence is skipped.
        """
        distances = np.full((2, len(texts), len(self.neurons.widths)), np.nan)
        total = np.zeros(len(self.neurons))
        for rows in length_batches(n_tokens, self.token_budget, self.lengths):
            batch = [texts[row] for row in rows]
            a, b = (
                scorer.score(tokenizer.encode(batch))
                for scorer, tokenizer in zip(self.scorers, self.tokenizers, strict=True)
            )
            finite = torch.isfinite(torch.cat([*a, *b], 1)).all(1).cpu().numpy()
            first, second = ([layer.cpu().numpy()[finite] for layer in layers] for layers in (a, b))
            distances[:, rows[finite]] = layer_distances(first, second)
            whole = [np.concatenate(side, 1).astype(np.float64) for side in (first, second)]
            total += np.abs(whole[0] - whole[1]).sum(0)
        return total, distances


def compare_runs(store: Store, other: Store, shards: Shards, neurons: Neurons) -> dict[str, Arrays]:
    """Compare the winners and the activation samples of two runs of one corpus, neuron by neuron.

    Returns:
        Each neuron's `shift`, `jaccard` index and `rank_correlation`, NaN if undefined; and the `distances`,
        `[2, sentences, layers]`, and `documents` of the sentences that are in both samples.
    """
    rows = common_rows(store, other)
    shift, ranks, distances = np.zeros(len(neurons)), np.full(len(neurons), np.nan), []
    for layer in neurons.layers:
        a, b = (layer_activations(run, layer)[own] for run, own in zip((store, other), rows, strict=True))
        if len(a):
            units = slice(*neurons.span(layer))
            shift[units], ranks[units] = np.abs(a.astype(np.float64) - b).mean(0), rank_correlations(a, b)
        distances.append(np.concatenate(layer_distances([a], [b]), 1).T)
    tables = read_rows(store, shards, sampled_sentences(store)[rows[0]], ["dataset", "doc_id"])
    documents = [document_codes(table["dataset"], table["doc_id"]).to_numpy() for table in tables]
    return {
        "shift": shift, "jaccard": winner_jaccards(store, other, neurons), "rank_correlation": ranks,
        "distances": np.stack(distances, 2), "documents": np.concatenate([np.zeros(0, np.int64), *documents]),
    }  # fmt: skip


def winner_jaccards(store: Store, other: Store, neurons: Neurons) -> Float64s:
    """Return each neuron's winners in both runs divided by those in either, `[neurons]`; topk/ is read in parts."""
    indices = np.full(len(neurons), np.nan)
    for _, first, stop in parts(len(neurons)):
        a, b = (_winners(run, neurons, np.arange(first, stop)) for run in (store, other))
        indices[first:stop] = jaccards(a, b, len(neurons))[first:stop]
    return indices


def _winners(store: Store, neurons: Neurons, numbers: Int64s) -> tuple[Int64s, Int64s]:
    """Return each winner's neuron number, and a number for its sentence and pole, for some neurons."""
    none = np.zeros(0, np.int64)
    groups = ((sets, rows["sent_id"].to_numpy()) for sets, rows in winner_groups(store, neurons, numbers))
    sets, sent_id = map(np.concatenate, zip((none, none), *groups, strict=True))
    neuron, pole = neuron_and_pole(sets)
    return neuron, set_number(sent_id, pole)
