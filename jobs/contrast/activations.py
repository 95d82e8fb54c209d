"""The activations that are contrasted: those of the activation sample, or of sentences that a pass scores for this."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.stage.dictionaries import ScorerArgs
from jobs.stage.outputs import Noted, Output, partial_file, read_partial, read_partials
from jobs.stage.step import Made
from ops.arrays import Float32s, Int64s
from ops.corpus.read_shard import read_shard
from ops.model.batches import encode_batches
from ops.model.tokenizer import Tokenizer
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.topk.activation_sample import read_layer
from ops.topk.neurons import Neurons
from ops.topk.score_shard import score_batches

OWN, RANDOM = "own", "random"  # the run's model, and that of --random-run
text_set_file = partial(partial_file, "contrast", "text_set")  # the sentences of a group of texts


def layer_file(model: str, layer: int, block: int) -> Output:
    """Return the file of a layer's activations in a block of sentences, by the model of either run."""
    return partial_file("contrast", f"{model}-{layer}", block)


@dataclass(frozen=True)
class Activations:
    """The activations of a run's units in the sentences that are contrasted.

    Attributes:
        rows: the place of each sentence in the activation sample, or among those that a pass scored.
        model: if a pass scored the sentences, `OWN` or `RANDOM`; otherwise empty.
    """

    store: Store
    neurons: Neurons
    rows: Int64s
    model: str = ""
    blocks: int = 0

    def layer(self, layer: int) -> csr_array | Float32s:
        """Return a layer's activations as a matrix, `[sentences, units]`, sparse for features."""
        if not self.model:
            sample = read_layer(self.store, layer, self.neurons)
            return (csr_array(sample) if issparse(sample) else sample)[self.rows]
        files = [layer_file(self.model, layer, block) for block in range(self.blocks)]
        blocks = [read_arrays(table) for table in read_partials(self.store, files)]
        if "values" in blocks[0]:
            return np.concatenate([block["values"] for block in blocks])[self.rows]
        width = self.neurons.width(layer)
        parts = [
            csr_array((own["data"], own["indices"], own["indptr"]), shape=(len(own["indptr"]) - 1, width))
            for own in blocks
        ]
        return csr_array(vstack(parts, "csr"))[self.rows]


@dataclass(frozen=True, kw_only=True)
class ScoreArgs(ScorerArgs):
    """The arguments of workers that score sentences."""

    model: str
    token_budget: int
    equal_lengths: bool


class BlockScorer:
    """Scores blocks of sentences: some of a shard of corpus/, or some of a group of texts."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args, self.tokenizer = args, Tokenizer(args.facts)
        self.scorer = args.scorer(self.tokenizer.pad_id)

    def __call__(self, item: Item) -> Made:
        """Score one block; sentences with a non-finite activation are noted by their place in it."""
        args = self.args
        if "shard" in item:
            _, texts, n_tokens = read_shard(args.store, item["shard"], np.array(item["rows"], np.int64))
        else:
            rows = read_partial(args.store, text_set_file(item["texts"])).slice(item["first"], item["sentences"])
            texts, n_tokens = rows["text"].to_pylist(), rows["n_tokens"].to_numpy()
        places = np.arange(len(texts))
        batches = encode_batches(places, texts, n_tokens, self.tokenizer, args.token_budget, args.equal_lengths)
        values, reasons = score_batches(self.scorer, counting(batches), len(texts))
        made = {}
        for layer in args.neurons.layers:
            own = values[:, slice(*args.neurons.span(layer))]
            arrays = {"values": own}
            if self.scorer.sparse:
                active = csr_array(own)
                arrays = {"data": active.data, "indices": active.indices, "indptr": active.indptr}
            made[layer_file(args.model, layer, item["block"])] = Noted(write_arrays(**arrays), sorted(reasons))
        return made
