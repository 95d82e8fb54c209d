"""The stage `psi`, which clusters the vocabulary with several seeds and measures every layer from the weights alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from jobs.engine.item import Item
from jobs.options.configs import without_ingest
from jobs.psi.job import PsiConfig
from jobs.run_folder.run import Run
from jobs.stage.corpus_pass import describe
from jobs.stage.outputs import Output, TablePart, partial_file, read_partials, table_part, whole_table
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.step import Made, Step, Steps
from ops import sampling
from ops.model.head_projections import head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer
from ops.psi.figures import draw_static
from ops.psi.psi import random_direction, static_psi
from ops.psi.tables import cluster_rows, token_rows, vocabulary_tables
from ops.psi.vocabulary_clusters import default_clusters
from ops.statistics.k_means import k_means
from ops.storage.store import Store
from ops.storage.tables import read_parts


@dataclass(frozen=True)
class PsiArgs:
    """The arguments of the workers."""

    store: Store
    facts: ModelFacts
    clusters: int
    seed: int


def measure_vocabulary(config: PsiConfig, run: Run, facts: ModelFacts, tokenizer: Tokenizer, model: nn.Module) -> None:
    """Run the stage, or the missing part of it."""
    tokens, heads = len(word_embeddings(model, facts)), head_projections(model, facts)[0].heads
    clusters = config.clusters or default_clusters(tokens)
    depends_on: dict[str, Any] = {"clusters": clusters, "cluster_seeds": config.cluster_seeds}
    depends_on |= {"model": facts.fingerprint, "tokenizer": tokenizer.fingerprint, "seed": config.seed}
    options = {**without_ingest(config), "clusters": clusters}
    about = {"model": describe(facts)}
    stage = begin_stage("psi", config, run, depends_on, counted=("tokens", "tokens"), options=options, about=about)
    if stage is None:
        return
    in_all, args = facts.layers * heads, PsiArgs(stage.store, facts, clusters, config.seed)
    rows = {"psi/vocabulary": tokens, "psi/tokens": tokens * in_all, "psi/clusters": clusters * in_all}
    counts = {"tokens": tokens, "heads": heads}
    stage.complete(vocabulary_steps(args, config.cluster_seeds, stage, tokenizer, model), rows, counts)


def vocabulary_steps(args: PsiArgs, clusterings: int, stage: Stage, tokenizer: Tokenizer, model: nn.Module) -> Steps:
    """Yield the steps, write psi/vocabulary and psi/agreement between them, draw the figures and return the counts."""
    facts, vectors = args.facts, word_embeddings(model, args.facts).numpy()
    clusters = Step(
        name="psi: clusters", items=[{"clustering": i} for i in range(clusterings)],
        outputs=lambda item: [labels_file(item)], worker=VocabularyClusterer, args={"args": args},
        unit="runs of k-means", actors=True, amount=clusterings * args.clusters * vectors.size,
    )  # fmt: skip
    yield [clusters]
    labellings = read_partials(args.store, [labels_file(item) for item in clusters.items])
    names = tokenizer.decode(list(range(len(vectors))))
    tables, counts = vocabulary_tables(
        names, tokenizer.special, vectors, [table["cluster"].to_numpy() for table in labellings], args.seed
    )
    for name, table in tables.items():
        whole_table(name).commit(args.store, table, stage.fingerprint)
    yield [
        Step(
            name="psi: word embeddings", items=[{"layer": layer} for layer in range(facts.layers)],
            outputs=layer_parts, worker=LayerMeasurer, args={"args": args}, unit="layers", actors=True,
            amount=vectors.size,
        )
    ]  # fmt: skip
    draw_static(args.store, model, facts)
    return {**counts, "layers": facts.layers, "heads": head_projections(model, facts)[0].heads}


def labels_file(item: Item) -> Output:
    """Return the file of the clusters of one run of k-means."""
    return partial_file("psi", "labels", item["clustering"])


def layer_parts(item: Item) -> list[TablePart]:
    """Return the table parts of a layer."""
    layer = item["layer"]
    return [table_part(table, layer, f"layer-{layer}") for table in ("psi/tokens", "psi/clusters")]


class VocabularyClusterer:
    """Clusters the vocabulary with different seeds."""

    def __init__(self, args: PsiArgs) -> None:
        self.args = args
        self.vectors = word_embeddings(load_model(args.facts, "cpu", "float32"), args.facts).numpy()

    def __call__(self, item: Item) -> Made:
        """Do one run of k-means."""
        rng = np.random.default_rng([self.args.seed, sampling.CLUSTERS, item["clustering"]])
        return {labels_file(item): pa.table({"cluster": k_means(self.vectors, self.args.clusters, rng)})}


class LayerMeasurer:
    """Measures every token and cluster in every head of layers."""

    def __init__(self, args: PsiArgs) -> None:
        torch.set_num_threads(1)
        model = load_model(args.facts, "cpu", "float32")
        self.layers, self.vectors = head_projections(model, args.facts), word_embeddings(model, args.facts)
        self.vocabulary = pa.concat_tables(read_parts(args.store, "psi/vocabulary"))

    def __call__(self, item: Item) -> Made:
        """Measure one layer."""
        layer, (tokens, clusters) = item["layer"], layer_parts(item)
        weight = self.layers[layer].weight
        values, random = static_psi(self.vectors, weight).numpy(), random_direction(weight).numpy()
        return {
            tokens: token_rows(layer + 1, values),
            clusters: cluster_rows(layer + 1, values, random, self.vocabulary),
        }
