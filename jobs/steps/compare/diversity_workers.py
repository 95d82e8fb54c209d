"""The workers of the part `diversity` of `compare`: winners are drawn, embedded once each, and clustered."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item
from jobs.stage.compare_files import curve_file, drawn_file
from jobs.stage.files import write_partial
from jobs.stage.layout import shard_file
from ops import sampling
from ops.compare.diversity import curve_rows
from ops.corpus.read_shard import read_shard
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import encode_batches
from ops.model.check_states import lengths_of_batches
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.shards import Shards
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import read_parts, read_table

PART = "compare/diversity"


@dataclass(frozen=True)
class DiversityArgs:
    """What the workers are made from."""

    store: Store
    fingerprint: str
    facts: ModelFacts
    scoring: ScoreOptions
    token_budget: int
    shards: Shards
    layers: int
    clusters: tuple[int, ...]
    sample: int
    seed: int


class WinnerDrawer:
    """Draws from the winners of one layer after another."""

    def __init__(self, args: DiversityArgs) -> None:
        self.args, self.store = args, args.store

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Commit the sentences drawn from a layer's winners, and how often each; of layer 0 from the corpus."""
        layer, args = item["layer"], self.args
        rng = np.random.default_rng([args.seed, sampling.DIVERSITY if layer else sampling.UNIFORM, layer])
        if layer:
            winners = read_table(self.store, "topk", pc.field("layer") == layer, ["sent_id"])["sent_id"].to_numpy()
            drawn = rng.choice(winners, min(args.sample, len(winners)), replace=False)
            sent_id, times = np.unique(drawn, return_counts=True)
        else:
            scored = np.ones(args.shards.sentences, bool)
            for table in read_parts(self.store, "unscored", ["sent_id"]):
                scored[table["sent_id"].to_numpy()] = False
            candidates = np.flatnonzero(scored)
            sent_id = rng.choice(candidates, min(args.sample, len(candidates)), replace=False)
            times = np.ones(len(sent_id), np.int64)
        table = pa.table({"sent_id": sent_id.astype(np.int64), "times": times.astype(np.int64)})
        write_partial(self.store, drawn_file(layer), table, args.fingerprint)
        return {"layer": layer}


def read_drawn(store: Store, layer: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the sentences drawn from a layer's winners, and how often each; of layer 0 from the corpus."""
    with store.parquet(drawn_file(layer).path) as file:
        table = file.read()
    return table["sent_id"].to_numpy(), table["times"].to_numpy()


def drawn_sentences(store: Store, layers: int) -> npt.NDArray[np.int64]:
    """Return the distinct sentences of all draws, ascending."""
    return np.unique(np.concatenate([read_drawn(store, layer)[0] for layer in range(layers + 1)]))


class Embedder:
    """Embeds the chosen sentences of one shard after another: the last layer's [CLS], or mean where there is none."""

    def __init__(self, args: DiversityArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        self.scorer = Scorer(args.facts, args.scoring, self.tokenizer.pad_id)
        self.lengths = lengths_of_batches(self.scorer, self.tokenizer)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Embed those of one shard."""
        shard = item["shard"]
        rows = read_shard(self.store, shard, np.array(item["sent_ids"], np.int64))
        ids, vectors = [], []
        for sent_ids, tokens in encode_batches(*rows, self.tokenizer, self.args.token_budget, self.lengths):
            ids.append(sent_ids)
            vectors.append(self.scorer.score(tokens)[-1].cpu().numpy())
        sent_id, values = np.concatenate(ids), np.concatenate(vectors)
        order = np.argsort(sent_id)
        listed = pa.FixedSizeListArray.from_arrays(pa.array(values[order].ravel()), values.shape[1])
        table = pa.table({"sent_id": sent_id[order], "vector": listed})
        write_partial(self.store, shard_file(PART, shard), table, self.args.fingerprint)
        return {"sentences": len(sent_id)}


class CurveMeasurer:
    """Measures the curve of one layer after another."""

    def __init__(self, args: DiversityArgs) -> None:
        self.args, self.store = args, args.store
        ids, vectors = [], []
        chosen = drawn_sentences(self.store, args.layers)
        for table in side_by_side(self._read, [i for i, own in enumerate(args.shards.split(chosen)) if len(own)]):
            column = table["vector"].combine_chunks()
            ids.append(table["sent_id"].to_numpy())
            vectors.append(column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size))
        self.ids, self.vectors = np.concatenate(ids), np.concatenate(vectors)
        # A sentence that another layer's winners scored may still have no finite vector at this site.
        self.finite = np.isfinite(self.vectors).all(1)

    def _read(self, shard: int) -> pa.Table:
        with self.store.parquet(shard_file(PART, shard).path) as file:
            return file.read()

    def points(self, sent_id: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Return the vectors of these sentences, those that are finite, and which they are."""
        place = np.searchsorted(self.ids, sent_id)
        return self.vectors[place[self.finite[place]]], self.finite[place]

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one layer's curve."""
        layer, args = item["layer"], self.args
        sent_id, times = read_drawn(self.store, layer)
        points, finite = self.points(sent_id)
        uniform, _ = self.points(read_drawn(self.store, 0)[0])
        count = min(len(points), len(uniform))
        rows = curve_rows(layer, points[:count], uniform[:count], times[finite][:count], args.clusters, args.seed)
        write_partial(self.store, curve_file(layer), rows, args.fingerprint)
        return {"layer": layer}
