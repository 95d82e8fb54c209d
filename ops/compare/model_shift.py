"""The distance between two models' vectors of the same sentences (Oba 2021, Table 3), and between two runs of them."""

from collections.abc import Sequence

import numpy as np
import torch

from ops.arrays import Arrays, Float64s, Floats, Int64s
from ops.compare.activation_vectors import common_rows, layer_activations, sampled_sentences
from ops.corpus.read_shard import read_rows
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches
from ops.model.check_states import equal_lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sentences.codes import document_codes
from ops.shards import Shards
from ops.statistics.by_document import means_by_document
from ops.statistics.interval import Interval
from ops.storage.store import Store
from ops.topk.neurons import POLES, Neurons, neuron_and_pole, parts, set_number
from ops.topk.winner_groups import winner_groups

BEYOND = 1 << 40  # above the number of any sentence and pole


class TwoModels:
    """Two models that read the same sentences, in the same batches; neurons with the same number are counterparts."""

    def __init__(
        self, facts: tuple[ModelFacts, ModelFacts], scoring: ScoreOptions, token_budget: int, neurons: Neurons
    ) -> None:
        self.token_budget, self.neurons = token_budget, neurons
        tokenizers = [Tokenizer(own) for own in facts]
        scorers = [Scorer(own, scoring, t.pad_id) for own, t in zip(facts, tokenizers, strict=True)]
        self.models = list(zip(scorers, tokenizers, strict=True))
        leaks = [equal_lengths(*model) for model in self.models]
        self.equal_lengths = any(leaks)

    def distances(self, texts: Sequence[str], n_tokens: Int64s) -> tuple[Float64s, Float64s]:
        """Return the distances between the models; sentences that are not finite in one of them are skipped.

        Returns:
            Each neuron's sum of absolute differences, `[neurons]`; and the sentences' Manhattan and squared Euclidean
            distances, `[2, sentences, layers]`, which are NaN if the sentence is skipped.
        """
        distances = np.full((2, len(texts), len(self.neurons.widths)), np.nan)
        total = np.zeros(len(self.neurons))
        for rows in length_batches(n_tokens, self.token_budget, self.equal_lengths):
            batch = [texts[row] for row in rows]
            a, b = (scorer.score(tokenizer.encode(batch)) for scorer, tokenizer in self.models)
            finite = torch.isfinite(torch.cat([*a, *b], 1)).all(1).cpu().numpy()
            first, second = ([layer.cpu().numpy()[finite] for layer in layers] for layers in (a, b))
            distances[:, rows[finite]] = layer_distances(first, second)
            whole = [np.concatenate(side, 1).astype(np.float64) for side in (first, second)]
            total += np.abs(whole[0] - whole[1]).sum(0)
        return total, distances


def compare_runs(
    store: Store, other: Store, shards: Shards, neurons: Neurons, k: int, poles: tuple[str, ...]
) -> dict[str, Arrays]:
    """Compare the first `k` winners at some poles and the activation samples of two runs of one corpus, by neuron.

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
        "shift": shift, "jaccard": winner_jaccards(store, other, neurons, k, poles), "rank_correlation": ranks,
        "distances": np.stack(distances, 2), "documents": np.concatenate([np.zeros(0, np.int64), *documents]),
    }  # fmt: skip


def winner_jaccards(store: Store, other: Store, neurons: Neurons, k: int, poles: tuple[str, ...]) -> Float64s:
    """Return each neuron's winners in both runs divided by those in either, `[neurons]`; topk/ is read in parts.

    Only the first `k` winners at these poles count, as runs can differ in both.
    """
    indices = np.full(len(neurons), np.nan)
    for _, first, stop in parts(len(neurons)):
        own, of_other = (_winners(run, neurons, np.arange(first, stop), k, poles) for run in (store, other))
        indices[first:stop] = jaccards(own, of_other, stop - first)
    return indices


def _winners(store: Store, neurons: Neurons, numbers: Int64s, k: int, poles: tuple[str, ...]) -> Int64s:
    """Return a number for each winner of a range of neurons, as `jaccards` takes it; the range's first neuron is 0."""
    winners = [np.zeros(0, np.int64)]
    for sets, rows in winner_groups(store, neurons, numbers, ("sent_id", "rank")):
        neuron, pole = neuron_and_pole(sets)
        own = (neuron - numbers[0]) * BEYOND + set_number(rows["sent_id"].to_numpy(), pole)
        winners.append(own[(rows["rank"].to_numpy() <= k) & np.isin(pole, [POLES.index(name) for name in poles])])
    return np.concatenate(winners)


def layer_distances(a: list[Floats], b: list[Floats]) -> tuple[Float64s, Float64s]:
    """Return each sentence's Manhattan and squared Euclidean distance by layer, each `[sentences, layers]` float64.

    Args:
        a, b: each layer's activations in the two models, `[sentences, units]`.
    """
    differences = [np.asarray(x, np.float64) - np.asarray(y, np.float64) for x, y in zip(a, b, strict=True)]
    manhattan = np.stack([np.abs(d).sum(1) for d in differences], 1)
    return manhattan, np.stack([(d**2).sum(1) for d in differences], 1)


def with_whole(manhattan: Float64s, squares: Float64s) -> Float64s:
    """Return both distances between the vectors of all neurons, then of each layer, `[sentences, 2, 1 + layers]`."""
    sums = [np.concatenate([d.sum(1, keepdims=True), d], 1) for d in (manhattan, squares)]
    return np.stack([sums[0], np.sqrt(sums[1])], 1)


def shift_rows(text_set: str, distances: Float64s, documents: Int64s) -> list[dict[str, object]]:
    """Return a text set's rows of `compare/shift_layers`, starting with all layers together (layer 0).

    The intervals are those of `means_by_document`, cut at 0.

    Args:
        distances: the result of `with_whole`.
        documents: the document of each sentence, `[sentences]`.
    """
    of_means = means_by_document(distances.reshape(len(distances), -1), documents)
    ends = np.maximum(of_means, 0).T.reshape(*distances.shape[1:], 3)
    return [
        {
            "text_set": text_set, "layer": layer, "n": len(distances),
            **Interval(*manhattan).columns("manhattan"), **Interval(*euclidean).columns("euclidean"),
        }
        for layer, (manhattan, euclidean) in enumerate(zip(*ends, strict=True))
    ]  # fmt: skip


def rank_correlations(a: Floats, b: Floats) -> Float64s:
    """Return Spearman's correlation of each neuron's values in two models, `[neurons]`; NaN if one is constant.

    Both are given as `[sentences, neurons]`, for the same sentences.
    """
    from scipy.stats import rankdata

    x, y = (rankdata(values, axis=0) for values in (a, b))
    x, y = x - x.mean(0), y - y.mean(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip((x * y).sum(0) / np.sqrt((x**2).sum(0) * (y**2).sum(0)), -1.0, 1.0))


def jaccards(own: Int64s, other: Int64s, neurons: int) -> Float64s:
    """Return each neuron's Jaccard index: winners of both runs divided by winners of either, `[neurons]`.

    It is NaN for a neuron without winners. Winners are given by distinct numbers: `BEYOND` times their neuron, from 0,
    plus any smaller number that identifies the winner.
    """
    several = own, other, np.intersect1d(own, other, assume_unique=True)
    first, second, common = (np.bincount(winners // BEYOND, minlength=neurons) for winners in several)
    either = first + second - common
    return np.asarray(np.where(either > 0, common / np.maximum(either, 1), np.nan))
