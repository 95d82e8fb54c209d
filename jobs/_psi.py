"""Workers of `psi`: one clusters the vocabulary by one seed, one measures a layer, one reads groups of shards."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from jobs._engine import Item
from jobs._partials import partial
from jobs._shards import read_corpus
from ops.model.batches import encode_batches, pad
from ops.model.head_projections import head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer, Tokens
from ops.psi.contextual import ContextualPsi
from ops.psi.psi import VALUES, random_direction, static_psi
from ops.psi.tables import cluster_rows, token_rows
from ops.psi.vocabulary_clusters import Labels, k_means
from ops.reducers.token_moments import TokenMoments, TokenSums
from ops.sampling import CLUSTERS
from ops.schema import schema
from ops.shards import Ids
from ops.storage.store import Store, shard_footer
from ops.storage.tables import read_parts, write_part

STATIC, CONTEXTUAL = "psi", "psi/contextual"


def labels_file(run: int) -> str:
    """Return the path of the partial file that holds one k-means run's clusters."""
    return f"_partials/{STATIC}/vocabulary/run-{run:03d}.parquet"


def read_labels(store: Store, run: int) -> Labels:
    """Return the cluster of each token by one k-means run."""
    with store.parquet(labels_file(run)) as file:
        return np.asarray(file.read()["cluster"].to_numpy())


@dataclass(frozen=True)
class PsiArgs:
    """What the workers of the static part are made from."""

    out: str
    facts: ModelFacts
    fingerprint: str
    clusters: int
    seed: int


class VocabularyClusterer:
    """Clusters the vocabulary by one seed after another."""

    def __init__(self, args: PsiArgs) -> None:
        self.args, self.store = args, Store(args.out)
        self.vectors = word_embeddings(load_model(args.facts, "cpu", "float32"), args.facts).numpy()

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one run of k-means and commit its clusters."""
        run = item["run"]
        labels = k_means(self.vectors, self.args.clusters, np.random.default_rng([self.args.seed, CLUSTERS, run]))
        footer = shard_footer(self.args.fingerprint, f"run-{run}", len(labels))
        table = pa.table({"cluster": labels}).replace_schema_metadata(footer)
        self.store.commit(labels_file(run), lambda path: pq.write_table(table, path, compression="zstd"))
        return {"run": run}


class LayerMeasurer:
    """Writes the parts of `psi/tokens` and `psi/clusters` of one layer after another."""

    def __init__(self, args: PsiArgs) -> None:
        torch.set_num_threads(1)
        self.args, self.store = args, Store(args.out)
        model = load_model(args.facts, "cpu", "float32")
        self.layers, self.vectors = head_projections(model, args.facts), word_embeddings(model, args.facts)
        self.vocabulary = pa.concat_tables(read_parts(self.store, "psi/vocabulary"))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure every token in every head of one layer."""
        layer = item["layer"]
        weight = self.layers[layer].weight
        values, random = static_psi(self.vectors, weight).numpy(), random_direction(weight).numpy()
        heads = values.shape[2]
        self._write("psi/tokens", layer, list(token_rows(layer + 1, values)), len(values) * heads)
        clusters = list(cluster_rows(layer + 1, values, random, self.vocabulary))
        self._write("psi/clusters", layer, clusters, sum(c.num_rows for c in clusters))
        return {"layer": layer}

    def _write(self, table: str, layer: int, groups: list[pa.Table], rows: int) -> None:
        footer = shard_footer(self.args.fingerprint, f"layer-{layer}", rows)
        write_part(self.store, table, layer, schema(table), groups, self.args.fingerprint, footer)


@dataclass(frozen=True)
class ContextualArgs:
    """What the workers of the contextual part are made from."""

    out: str
    facts: ModelFacts
    fingerprint: str
    device: str
    dtype: str
    threads: int | None
    token_budget: int


class GroupReader:
    """Runs the model over groups of shards and commits the moments of the tokens that occur in each.

    Takes 16 bytes for each token of the vocabulary, layer, head and value (140 MB for the packaged model, 280 MB for
    bert-base), and twice that more while it commits.
    """

    def __init__(self, args: ContextualArgs) -> None:
        set_numerics(args.device, args.threads)
        self.args, self.store = args, Store(args.out)
        self.tokenizer, self.device = Tokenizer(args.facts), torch.device(args.device)
        model = load_model(args.facts, args.device, args.dtype)
        self.reader = ContextualPsi(model, head_projections(model, args.facts))
        self.vocabulary = len(word_embeddings(model, args.facts))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read one group's shards in their order."""
        columns = len(self.reader.layers) * len(VALUES) * self.reader.heads
        sums = TokenSums(self.vocabulary, columns, self.device)
        unscored: list[int] = []
        for part in item["parts"]:
            corpus = read_corpus(self.store, part)
            for ids, tokens in encode_batches(*corpus, self.tokenizer, self.args.token_budget):
                unscored += self._add(ids, tokens, sums)
        moments = sums.moments()
        table, number = moments.table(), item["shard"]
        sentences = item["span"][1] - item["span"][0]
        notes = {"sentences": sentences, "unscored": sorted(unscored), "tokens": int(moments.count.sum())}
        footer = {
            **shard_footer(self.args.fingerprint, f"shard-{number}", table.num_rows),
            b"atlas.notes": json.dumps(notes).encode(),
        }
        described = table.replace_schema_metadata(footer)
        self.store.commit(partial(CONTEXTUAL, number), lambda path: pq.write_table(described, path, compression="zstd"))
        return {"shard": number, "sentences": sentences}

    @torch.inference_mode()
    def _add(self, sent_ids: Ids, tokens: list[Tokens], sums: TokenSums) -> list[int]:
        """Add one batch and return the sentences left out, for a value of theirs is not finite."""
        ids, real, _ = pad(tokens, self.tokenizer.pad_id, self.device)
        values = self.reader.read({"input_ids": ids, "attention_mask": real.long()}, real).flatten(1)
        ids = ids[real]
        finite = torch.isfinite(values).all(1)
        if bool(finite.all()):
            sums.update(ids, values)
            return []
        sentence = torch.nonzero(real)[:, 0]
        good = torch.ones(len(tokens), dtype=torch.bool, device=self.device)
        good[sentence[~finite]] = False
        sums.update(ids[good[sentence]], values[good[sentence]])
        return [int(i) for i in sent_ids[~good.cpu().numpy()]]


def read_group(store: Store, number: int) -> tuple[TokenMoments, dict[str, Any]]:
    """Return a group's moments and what its file says besides: sentences, those left out, tokens."""
    with store.parquet(partial(CONTEXTUAL, number)) as file:
        notes: dict[str, Any] = json.loads(file.schema_arrow.metadata[b"atlas.notes"])
        return TokenMoments.read(file.read()), notes
