"""The steps of the static part of `psi`: the vocabulary is clustered by several seeds, and every layer measured."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import nn

from jobs.engine.item import Item
from jobs.stage.layout import Output, labels_file, table_part
from jobs.stage.runner import Step
from ops import sampling
from ops.model.head_projections import head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer
from ops.psi.psi import random_direction, static_psi
from ops.psi.tables import agreement_rows, cluster_rows, token_rows, vocabulary_rows
from ops.psi.vocabulary_clusters import Labels, agreements, centroids, k_means, superclusters
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import read_parts, write_part


@dataclass(frozen=True)
class PsiArgs:
    """What the workers of the static part are made from."""

    store: Store
    facts: ModelFacts
    fingerprint: str
    clusters: int
    seed: int


def clusters_step(args: PsiArgs, runs: int) -> Step:
    """Return the step that clusters the vocabulary by so many runs of k-means."""
    items = [{"run": run} for run in range(runs)]
    given = {"args": args}
    return Step(
        "psi: clusters", items, lambda item: [labels_file(item["run"])], VocabularyClusterer, given, "runs of k-means"
    )


def layers_step(args: PsiArgs) -> Step:
    """Return the step that writes the parts of psi/tokens and psi/clusters, one a layer."""
    items = [{"layer": layer} for layer in range(args.facts.layers)]
    return Step("psi: word embeddings", items, layer_outputs, LayerMeasurer, {"args": args}, "layers")


def layer_outputs(item: Item) -> list[Output]:
    """Return the parts of a layer."""
    name = f"layer-{item['layer']}"
    return [table_part(table, item["layer"], name) for table in ("psi/tokens", "psi/clusters")]


def write_vocabulary(store: Store, args: PsiArgs, runs: int, tokenizer: Tokenizer, model: nn.Module) -> dict[str, Any]:
    """Write psi/vocabulary by the first run of k-means, and psi/agreement of all runs; return their counts."""
    labellings = [read_labels(store, run) for run in range(runs)]
    vectors = word_embeddings(model, args.facts).numpy()
    centres = centroids(vectors, labellings[0])
    of_centres = superclusters(centres, args.seed)
    names = tokenizer.decode(list(range(len(vectors))))
    vocabulary = vocabulary_rows(names, tokenizer.special, vectors, labellings[0], of_centres)
    write_part(store, "psi/vocabulary", 0, schema("psi/vocabulary"), [vocabulary], args.fingerprint)
    found = agreements(labellings)
    write_part(store, "psi/agreement", 0, schema("psi/agreement"), [agreement_rows(found)], args.fingerprint)
    return {
        "tokens": len(vectors),
        "clusters": len(centres),
        "superclusters": int(of_centres.max()) + 1,
        "rand_index": round(float(np.mean([f[2] for f in found])), 4) if found else None,
    }


def read_labels(store: Store, run: int) -> Labels:
    """Return the cluster of each token by one run of k-means."""
    with store.parquet(labels_file(run).path) as file:
        return np.asarray(file.read()["cluster"].to_numpy())


class VocabularyClusterer:
    """Clusters the vocabulary by one seed after another."""

    def __init__(self, args: PsiArgs) -> None:
        self.args, self.store = args, args.store
        self.vectors = word_embeddings(load_model(args.facts, "cpu", "float32"), args.facts).numpy()

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one run of k-means and commit its clusters."""
        run = item["run"]
        labels = k_means(
            self.vectors, self.args.clusters, np.random.default_rng([self.args.seed, sampling.CLUSTERS, run])
        )
        output = labels_file(run)
        footer = output.footer(self.args.fingerprint, len(labels))
        table = pa.table({"cluster": labels}).replace_schema_metadata(footer)
        self.store.commit(output.path, lambda path: pq.write_table(table, path, compression="zstd"))
        return {"run": run}


class LayerMeasurer:
    """Writes the parts of `psi/tokens` and `psi/clusters` of one layer after another."""

    def __init__(self, args: PsiArgs) -> None:
        torch.set_num_threads(1)
        self.args, self.store = args, args.store
        model = load_model(args.facts, "cpu", "float32")
        self.layers, self.vectors = head_projections(model, args.facts), word_embeddings(model, args.facts)
        self.vocabulary = pa.concat_tables(read_parts(self.store, "psi/vocabulary"))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure every token in every head of one layer."""
        layer = item["layer"]
        weight = self.layers[layer].weight
        values, random = static_psi(self.vectors, weight).numpy(), random_direction(weight).numpy()
        written = {
            "psi/tokens": list(token_rows(layer + 1, values)),
            "psi/clusters": list(cluster_rows(layer + 1, values, random, self.vocabulary)),
        }
        for (table, groups), output in zip(written.items(), layer_outputs(item), strict=True):
            footer = output.footer(self.args.fingerprint, sum(group.num_rows for group in groups))
            write_part(self.store, table, layer, schema(table), groups, self.args.fingerprint, footer)
        return {"layer": layer}
