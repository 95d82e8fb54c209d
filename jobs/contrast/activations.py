"""The activations that are contrasted: those of the activation sample, or of sentences that a pass scores for this."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.stage.dictionaries import ScorerArgs
from jobs.stage.outputs import Noted, Output, partial_file, read_partial, read_partials
from jobs.stage.step import Made
from ops.arrays import Float32s, Int64s
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens
from ops.model.batches import TokenBlock, batch_lengths, encode_batches
from ops.model.tokenizer import Tokenizer
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.topk.activation_sample import LayerSample, read_layer
from ops.topk.neurons import Neurons
from ops.topk.score_shard import score_batch

OWN, RANDOM = "own", "random"  # the run's model, and that of --random-run
text_set_file = partial(partial_file, "contrast", "text_set")  # the sentences of a group of texts


def layer_file(model: str, layer: int, block: int) -> Output:
    """Return the file of a layer's activations in a block of sentences, by the model of either run."""
    return partial_file("contrast", f"{model}-{layer}", block)


@dataclass(frozen=True)
class Activations:
    """The activations of a run's units in the sentences that are contrasted.

    Attributes:
        store: the run's folder.
        neurons: its units.
        rows: the place of each sentence in the activation sample; None if all of them are used in their order.
        model: if a pass scored the sentences, `OWN` or `RANDOM`; otherwise empty.
        blocks: the number of blocks of the pass.
    """

    store: Store
    neurons: Neurons
    rows: Int64s | None = None
    model: str = ""
    blocks: int = 0

    def layer(self, layer: int) -> LayerSample:
        """Return a layer's activations, with one row for each sentence."""
        if not self.model:
            return _taken(read_layer(self.store, layer, self.neurons), self.rows)
        files = [layer_file(self.model, layer, block) for block in range(self.blocks)]
        blocks = [read_arrays(table) for table in read_partials(self.store, files)]
        if "values" in blocks[0]:
            values = np.concatenate([block["values"] for block in blocks])
            return LayerSample(values, len(values))
        width = self.neurons.width(layer)
        parts = [
            csr_array((own["data"], own["indices"], own["indptr"]), shape=(len(own["indptr"]) - 1, width))
            for own in blocks
        ]
        return _sample(csr_array(vstack(parts)))

    def matrix(self, layer: int) -> csr_array | Float32s:
        """Return a layer's activations as a matrix, `[sentences, units]`, sparse for features."""
        return _matrix(self.layer(layer))


def _matrix(sample: LayerSample) -> csr_array | Float32s:
    if sample.offsets is None:
        return sample.values
    shape = sample.sentences, sample.width
    return csr_array(csc_array((sample.values, sample.places, sample.offsets), shape=shape))


def _taken(sample: LayerSample, rows: Int64s | None) -> LayerSample:
    if rows is None:
        return sample
    taken = _matrix(sample)[rows]
    return LayerSample(taken, len(rows)) if sample.offsets is None else _sample(taken)


def _sample(matrix: csr_array) -> LayerSample:
    columns = matrix.tocsc()
    columns.sort_indices()
    places = columns.indices.astype(np.int64)
    return LayerSample(columns.data.astype(np.float32), matrix.shape[0], columns.indptr.astype(np.int64), places)


@dataclass(frozen=True, kw_only=True)
class ScoreArgs(ScorerArgs):
    """The arguments of workers that score sentences.

    Attributes:
        model: `OWN` or `RANDOM`.
        kept: where ingest stored the tokens of corpus/; None if they were not stored.
        token_budget, equal_lengths: how sentences are batched.
    """

    model: str
    kept: KeptTokens | None
    token_budget: int
    equal_lengths: bool


class BlockScorer:
    """Scores blocks of sentences: some of a shard of corpus/, or some of a group of texts."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args = args
        self.tokenizer = tokenizer = Tokenizer(args.facts)
        self.tokens = CorpusTokens(args.store, args.kept, lambda: tokenizer)
        self.scorer = args.scorer(tokenizer.pad_id)
        self.lengths = batch_lengths(args.options.device, args.equal_lengths)

    def __call__(self, item: Item) -> Made:
        """Score one block; sentences with a non-finite activation are noted by their place in it."""
        ids = np.array(item["rows"], np.int64) if "shard" in item else np.arange(item["first"], item["stop"])
        neurons = self.args.neurons
        values, finite = np.zeros((len(ids), len(neurons)), np.float32), np.zeros(len(ids), np.bool_)
        for of_batch, tokens in counting(self._batches(item, ids)):
            found, is_finite, _ = score_batch(self.scorer, tokens)
            places = np.searchsorted(ids, of_batch)
            values[places], finite[places] = found.cpu().numpy(), is_finite.cpu().numpy()
        values[~finite] = 0.0
        made = {}
        for layer in neurons.layers:
            own = values[:, slice(*neurons.span(layer))]
            arrays = {"values": own}
            if self.scorer.sparse:
                rows = csr_array(own)
                arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
            file = layer_file(self.args.model, layer, item["block"])
            made[file] = Noted(write_arrays(**arrays), np.flatnonzero(~finite).tolist())
        return made

    def _batches(self, item: Item, ids: Int64s) -> Iterator[tuple[Int64s, TokenBlock]]:
        budget = self.args.token_budget
        if "shard" in item:
            return self.tokens.batches(item["shard"], budget, self.lengths, ids)
        own = read_partial(self.args.store, text_set_file(item["texts"])).slice(item["first"], len(ids))
        texts, n_tokens = own["text"].to_pylist(), own["n_tokens"].to_numpy()
        return encode_batches(ids, texts, n_tokens, self.tokenizer, budget, self.lengths)
