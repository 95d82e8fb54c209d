"""The stage `psi`, which clusters the vocabulary with several seeds and measures every layer from the weights alone."""

from functools import partial
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
from jobs.stage.outputs import TablePart, partial_file, read_partials, table_part, whole_table
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.step import Made, Step, Steps
from ops import sampling
from ops.figures.files import save_figures
from ops.model.attention_modules import head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer
from ops.psi.figures import static_figures
from ops.psi.psi import random_direction, static_psi
from ops.psi.tables import cluster_rows, token_rows, vocabulary_tables
from ops.psi.vocabulary_clusters import default_clusters
from ops.statistics.k_means import k_means
from ops.storage.store import Store
from ops.storage.tables import read_parts

labels_file = partial(partial_file, "psi", "labels")  # the clusters of one run of k-means


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
    in_all = facts.layers * heads
    rows = {"psi/vocabulary": tokens, "psi/tokens": tokens * in_all, "psi/clusters": clusters * in_all}
    counts = {"tokens": tokens, "heads": heads}
    stage.complete(vocabulary_steps(config, clusters, stage, facts, tokenizer, model), rows, counts)


def vocabulary_steps(
    config: PsiConfig, clusters: int, stage: Stage, facts: ModelFacts, tokenizer: Tokenizer, model: nn.Module
) -> Steps:
    """Yield the steps, write psi/vocabulary and psi/agreement between them, draw the figures and return the counts."""
    store, vectors, clusterings = stage.store, word_embeddings(model, facts).numpy(), range(config.cluster_seeds)
    yield [
        Step(
            name="psi: clusters", items=[{"clustering": i} for i in clusterings],
            outputs=lambda item: [labels_file(item["clustering"])], worker=VocabularyClusterer,
            args={"facts": facts, "clusters": clusters, "seed": config.seed}, unit="runs of k-means", actors=True,
            amount=len(clusterings) * clusters * vectors.size,
        )
    ]  # fmt: skip
    labellings = [table["cluster"].to_numpy() for table in read_partials(store, map(labels_file, clusterings))]
    names = tokenizer.decode(list(range(len(vectors))))
    tables, counts = vocabulary_tables(names, tokenizer.special, vectors, labellings, config.seed)
    for name, table in tables.items():
        whole_table(name).commit(store, table, stage.fingerprint)
    yield [
        Step(
            name="psi: word embeddings", items=[{"layer": layer} for layer in range(facts.layers)],
            outputs=layer_parts, worker=LayerMeasurer, args={"store": store, "facts": facts}, unit="layers",
            actors=True, amount=vectors.size,
        )
    ]  # fmt: skip
    save_figures(store, "psi/figures", static_figures(store, model, facts), facts.title)
    return {**counts, "layers": facts.layers, "heads": head_projections(model, facts)[0].heads}


def layer_parts(item: Item) -> list[TablePart]:
    """Return the table parts of a layer."""
    layer = item["layer"]
    return [table_part(table, layer, f"layer-{layer}") for table in ("psi/tokens", "psi/clusters")]


class VocabularyClusterer:
    """Clusters the vocabulary with different seeds."""

    def __init__(self, facts: ModelFacts, clusters: int, seed: int) -> None:
        self.clusters, self.seed = clusters, seed
        self.vectors = word_embeddings(load_model(facts, "cpu", "float32"), facts).numpy()

    def __call__(self, item: Item) -> Made:
        """Do one run of k-means."""
        rng = np.random.default_rng([self.seed, sampling.CLUSTERS, item["clustering"]])
        labels = k_means(self.vectors, self.clusters, rng)
        return {labels_file(item["clustering"]): pa.table({"cluster": labels})}


class LayerMeasurer:
    """Measures every token and cluster in every head of layers."""

    def __init__(self, store: Store, facts: ModelFacts) -> None:
        torch.set_num_threads(1)
        model = load_model(facts, "cpu", "float32")
        self.layers, self.vectors = head_projections(model, facts), word_embeddings(model, facts)
        self.vocabulary = pa.concat_tables(read_parts(store, "psi/vocabulary"))

    def __call__(self, item: Item) -> Made:
        """Measure one layer."""
        layer, (tokens, clusters) = item["layer"], layer_parts(item)
        weight = self.layers[layer].weight
        values, random = static_psi(self.vectors, weight).numpy(), random_direction(weight).numpy()
        return {
            tokens: token_rows(layer + 1, values),
            clusters: cluster_rows(layer + 1, values, random, self.vocabulary),
        }
