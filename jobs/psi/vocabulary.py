"""The stage `psi`, which clusters the vocabulary with several seeds and measures every layer from the weights alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from jobs.engine.item import Item
from jobs.psi.job import PsiConfig
from jobs.stage.corpus_pass import describe
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, of_all, spread_seconds
from jobs.stage.files import Output, TablePart, partial_file, read_partials, table_part, write_partial
from jobs.stage.options import without_ingest
from jobs.stage.runner import Stage, StageSpec, Step
from ops import sampling
from ops.errors import counted
from ops.model.head_projections import head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer
from ops.psi.figures import draw_static
from ops.psi.psi import random_direction, static_psi
from ops.psi.tables import cluster_rows, token_rows, vocabulary_tables
from ops.psi.vocabulary_clusters import default_clusters
from ops.schema import schema
from ops.statistics.k_means import k_means
from ops.storage.store import Store
from ops.storage.tables import read_parts, write_part

# Measured with the packaged model (jobs/psi/job.py): seconds of one core for a run of k-means, and for all values.
KMEANS_S, VALUES_S, TOKENS, CLUSTERS, WIDTH = 30.0, 3.0, 30_522, 1_000, 384
TOKEN_ROW, CLUSTER_ROW = 18, 60  # bytes of a row, nearly all of them floats
FIGURES_BYTES = 2_000_000


@dataclass(frozen=True)
class PsiArgs:
    """The arguments of the workers."""

    store: Store
    facts: ModelFacts
    fingerprint: str
    clusters: int
    seed: int


def vocabulary_stage(config: PsiConfig, facts: ModelFacts, tokenizer: Tokenizer, model: nn.Module) -> StageSpec:
    """Return the specification of the stage that measures the word embeddings."""
    tokens, heads = len(word_embeddings(model, facts)), head_projections(model, facts)[0].heads
    clusters, runs = config.clusters or default_clusters(tokens), config.cluster_seeds
    depends_on: dict[str, Any] = {"clusters": clusters, "cluster_seeds": runs, "model": facts.fingerprint}
    depends_on |= {"tokenizer": tokenizer.fingerprint, "seed": config.seed}

    def args(stage: Stage) -> PsiArgs:
        return PsiArgs(stage.store, facts, stage.fingerprint, clusters, config.seed)

    def measure(stage: Stage) -> dict[str, Any]:
        own = args(stage)
        stage.do(clusters_step(own, runs))
        counts = write_vocabulary(own, runs, tokenizer, model)
        stage.do(layers_step(own))
        draw_static(stage.store, model, facts)
        return {**counts, "layers": facts.layers, "heads": heads}

    return StageSpec(
        "psi",
        depends_on,
        measure,
        lambda stage, record: plan(stage, record, args(stage), runs, tokens, heads),
        ("tokens", "tokens"),
        {**without_ingest(config), "clusters": clusters},
        about={"model": describe(facts)},
    )


def clusters_step(args: PsiArgs, runs: int) -> Step:
    """Return the step that clusters the vocabulary with `runs` runs of k-means."""
    items = [{"run": run} for run in range(runs)]
    made = {"args": args}
    return Step("psi: clusters", items, labels_files, VocabularyClusterer, made, "runs of k-means", actors=True)


def labels_files(item: Item) -> list[Output]:
    """Return the file of the clusters of one run of k-means."""
    return [partial_file("psi", "labels", item["run"])]


def layers_step(args: PsiArgs) -> Step:
    """Return the step that writes psi/tokens and psi/clusters, one part per layer."""
    items = [{"layer": layer} for layer in range(args.facts.layers)]
    return Step("psi: word embeddings", items, layer_parts, LayerMeasurer, {"args": args}, "layers", actors=True)


def layer_parts(item: Item) -> list[TablePart]:
    """Return the table parts of a layer."""
    layer = item["layer"]
    return [table_part(table, layer, f"layer-{layer}") for table in ("psi/tokens", "psi/clusters")]


class VocabularyClusterer:
    """Clusters the vocabulary with different seeds."""

    def __init__(self, args: PsiArgs) -> None:
        self.args = args
        self.vectors = word_embeddings(load_model(args.facts, "cpu", "float32"), args.facts).numpy()

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one run of k-means and commit its clusters."""
        args, (output,) = self.args, labels_files(item)
        rng = np.random.default_rng([args.seed, sampling.CLUSTERS, item["run"]])
        labels = k_means(self.vectors, args.clusters, rng)
        write_partial(args.store, output, pa.table({"cluster": labels}), args.fingerprint)
        return item


class LayerMeasurer:
    """Writes the parts of `psi/tokens` and `psi/clusters` for layers."""

    def __init__(self, args: PsiArgs) -> None:
        torch.set_num_threads(1)
        self.args = args
        model = load_model(args.facts, "cpu", "float32")
        self.layers, self.vectors = head_projections(model, args.facts), word_embeddings(model, args.facts)
        self.vocabulary = pa.concat_tables(read_parts(args.store, "psi/vocabulary"))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure every token in every head of one layer."""
        layer, (tokens, clusters) = item["layer"], layer_parts(item)
        weight = self.layers[layer].weight
        values, random = static_psi(self.vectors, weight).numpy(), random_direction(weight).numpy()
        store, fingerprint = self.args.store, self.args.fingerprint
        tokens.write(store, token_rows(layer + 1, values), fingerprint)
        clusters.write(store, cluster_rows(layer + 1, values, random, self.vocabulary), fingerprint)
        return item


def write_vocabulary(args: PsiArgs, runs: int, tokenizer: Tokenizer, model: nn.Module) -> dict[str, Any]:
    """Write psi/vocabulary from the first run of k-means and psi/agreement from all runs; return the counts."""
    step = clusters_step(args, runs)
    files = [output for item in step.items for output in step.outputs(item)]
    labellings = [table["cluster"].to_numpy() for table in read_partials(args.store, files)]
    vectors = word_embeddings(model, args.facts).numpy()
    names = tokenizer.decode(list(range(len(vectors))))
    tables, counts = vocabulary_tables(names, tokenizer.special, vectors, labellings, args.seed)
    for name, table in tables.items():
        write_part(args.store, name, 0, schema(name), [table], args.fingerprint)
    return counts


def plan(stage: Stage, record: DryRun, args: PsiArgs, runs: int, tokens: int, heads: int) -> Plan:
    """Return what the stage would do, for a vocabulary of `tokens` tokens and `heads` heads per layer."""
    to_cluster, to_measure = len(stage.missing(clusters_step(args, runs))), len(stage.missing(layers_step(args)))
    layers, size = args.facts.layers, tokens / TOKENS * args.facts.width / WIDTH
    kmeans, values = KMEANS_S * size * args.clusters / CLUSTERS, VALUES_S * size / layers
    seconds = spread_seconds(record, to_cluster, stage.workers, kmeans * to_cluster, actors=True)
    seconds += spread_seconds(record, to_measure, stage.workers, values * to_measure, actors=True)
    work = [
        f"cluster {counted(tokens, 'token')} into {args.clusters:,}: {of_all(to_cluster, runs, 'run')} of k-means",
        f"measure {of_all(to_measure, layers, 'layer')} of {heads} heads",
    ]
    kept = layers * heads * (tokens * TOKEN_ROW + args.clusters * CLUSTER_ROW) + tokens * TOKEN_ROW + FIGURES_BYTES
    basis = ["nothing timed: measured with the packaged model (jobs/psi/job.py), by sizes", by_workers(stage.workers)]
    return Plan(work, seconds, kept, runs * tokens * 4, basis, counts={"tokens": tokens, "heads": heads})
