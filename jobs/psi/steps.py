"""The job `psi`: it measures the word embeddings of a model, and then the corpus, if there is one.

The stage `psi` clusters the vocabulary with several seeds and measures every layer from the weights alone. The stage
`psi/contextual` runs the model on groups of shards and writes psi/contextual from their moments.
"""

import sys
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.ingest.steps import ingest_where_named
from jobs.options.configs import without_ingest
from jobs.psi.job import PsiConfig
from jobs.run_folder.run import Run
from jobs.stage.checks import check_ingest_options, check_pass, require_corpus
from jobs.stage.corpus_pass import CorpusPass, PassArgs, begin_pass, describe, group_size
from jobs.stage.outputs import Noted, TablePart, file_of, read_partials, shard_file, table_part, with_notes
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.step import Made, Step, Steps
from ops import sampling
from ops.errors import InputError
from ops.figures.files import save_figures
from ops.model.attention_modules import check_architecture, head_projections, word_embeddings
from ops.model.batches import TokenBlock
from ops.model.load import ModelFacts, load_model, read_facts
from ops.model.numerics import check_exact_enough, set_numerics
from ops.model.tokenizer import Tokenizer
from ops.psi.clusters import default_clusters
from ops.psi.figures import layer_pairs, pairs_figure, static_figures
from ops.psi.psi import VALUES, ContextualPsi, random_direction, static_psi
from ops.psi.tables import cluster_rows, contextual_rows, token_rows, vocabulary_tables
from ops.reducers.grouped_moments import GroupedMoments, GroupedSums
from ops.shards import Ids
from ops.statistics.k_means import k_means
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.storage.tables import read_parts

CONTEXTUAL = "psi/contextual"
FIGURE = "psi/figures/static_contextual.svg"
VALUE_BYTES = 16  # bytes per token, head and value in a partial file
MERGED_AHEAD = 2  # number of groups read ahead, which is small because their tables are large


def psi(config: PsiConfig, run: Run) -> None:
    """Measure the word embeddings and the corpus, if there is one; work that is already done is skipped."""
    has_corpus = not config.static_only and (bool(config.corpus) or run.complete("ingest"))
    facts, tokenizer, model = prepare(config, run, has_corpus)
    measure_vocabulary(config, run, facts, tokenizer, model)
    if not has_corpus:
        why = "--static-only" if config.static_only else "there is no corpus/ and no --corpus"
        print(f"psi: {why}: only the word embeddings were measured; psi/contextual is skipped", file=sys.stderr)
        return
    ingest_where_named(config, run)
    measure_corpus(config, run, facts, tokenizer)
    # If the static part is done again, its figures are removed, including the one that compares the corpus with it.
    if not config.dry_run and not run.store.exists(FIGURE):
        pairs = [layer_pairs(run.store, layer) for layer in range(1, facts.layers + 1)]
        figures = {"static_contextual": pairs_figure(pairs)}
        run.add_files("psi", "psi/figures", save_figures(run.store, "psi/figures", figures, facts.title))


def prepare(config: PsiConfig, run: Run, has_corpus: bool) -> tuple[ModelFacts, Tokenizer, nn.Module]:
    """Check options, sources and model, and return the model's facts, its tokenizer and the model."""
    for option in ("corpus", "sentences"):
        if config.static_only and getattr(config, option):
            raise InputError(f"--static-only with --{option}: no corpus is read; leave one of the two out")
    if has_corpus:
        facts, tokenizer = check_pass(config, run)
        if not config.corpus:
            require_corpus(config, tokenizer, run)
    else:
        check_ingest_options(config)
        facts = read_facts(config.model, config.model_seed)
        tokenizer = Tokenizer(facts)
    check_architecture(facts.model_type, facts.name)
    check_exact_enough(config.dtype, "psi")
    model = load_model(facts, "cpu", "float32")
    if not any(bool(layer.weight.any()) for layer in head_projections(model, facts)):
        raise InputError(f"--model {config.model}: its heads' matrices are all zero; give other weights")
    vocabulary = len(word_embeddings(model, facts))
    if config.clusters is not None and config.clusters > vocabulary:
        raise InputError(
            f"--clusters {config.clusters}: {config.model} has a vocabulary of {vocabulary} tokens; give fewer clusters"
        )
    return facts, tokenizer, model


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
    clustering = Step(
        name="psi: clusters", items=[{"clustering": i} for i in clusterings], worker=VocabularyClusterer,
        outputs=file_of("psi", "labels", "clustering"), unit="runs of k-means", actors=True,
        args={"facts": facts, "clusters": clusters, "seed": config.seed},
        amount=len(clusterings) * clusters * vectors.size,
    )  # fmt: skip
    yield [clustering]
    labellings = [table["cluster"].to_numpy() for table in read_partials(store, clustering.files)]
    names = tokenizer.decode(list(range(len(vectors))))
    tables, counts = vocabulary_tables(names, tokenizer.special, vectors, labellings, config.seed)
    for name, table in tables.items():
        stage.write(name, table)
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

    def __call__(self, item: Item) -> pa.Table:
        """Do one run of k-means."""
        rng = np.random.default_rng([self.seed, sampling.CLUSTERS, item["clustering"]])
        return pa.table({"cluster": k_means(self.vectors, self.clusters, rng)})


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


def measure_corpus(config: PsiConfig, run: Run, facts: ModelFacts, tokenizer: Tokenizer) -> None:
    """Run the stage, or the missing part of it; the word embeddings were measured."""
    static = run.require("psi")["counts"]
    tokens, in_all = static["tokens"], facts.layers * static["heads"]
    group = config.group_size or group_size(len(run.shards()), tokens * in_all * len(VALUES) * VALUE_BYTES)
    job = begin_pass(CONTEXTUAL, config, run, facts, tokenizer, {}, per_group=group)
    if job is not None:
        steps = contextual_steps(static["heads"], job)
        job.stage.complete(steps, {CONTEXTUAL: tokens * in_all}, {"scored": job.sentences})


def contextual_steps(heads: int, job: CorpusPass) -> Steps:
    """Yield the step of the groups, merge them in their order, write psi/contextual and return the counts."""
    yield [job.shard_step(GroupReader, {"args": job.args}, partial(prepare_group, args=job.args))]
    store, layers = job.stage.store, job.args.facts.layers
    moments = GroupedMoments.empty(layers * len(VALUES) * heads)
    notes: list[dict[str, Any]] = []
    for table in with_notes(read_partials(store, job.partials, at_once=MERGED_AHEAD), notes):
        moments = moments.merge(GroupedMoments(**read_arrays(table)))
    job.stage.write(CONTEXTUAL, contextual_rows(moments, layers, heads))
    store.delete(FIGURE)
    unscored = [sentence for note in notes for sentence in note["unscored"]]
    tokens = sum(note["tokens"] for note in notes)
    counts = {"tokens": tokens, "distinct_tokens": len(moments.ids), "first_unscored": unscored[:20]}
    return job.accounted(job.sentences - len(unscored), len(unscored), counts)


def prepare_group(item: Item, args: PassArgs) -> list[tuple[Ids, TokenBlock]]:
    """Read the tokens of the shards of one group; with GPUs, this runs on separate cores."""
    return list(args.batches(item, lambda: Tokenizer(args.facts)))


class GroupReader:
    """Runs the model over groups of shards; the result is the moments of the tokens that occur in each group.

    Memory is 16 bytes for each token of the vocabulary, layer, head and value (140 MB for the packaged model, 280 MB
    for bert-base), and an additional two times that during a commit.
    """

    def __init__(self, args: PassArgs) -> None:
        set_numerics(args.device, args.threads)
        self.args, self.tokenizer = args, Tokenizer(args.facts)
        model = load_model(args.facts, args.device, args.dtype)
        self.reader = ContextualPsi(model, head_projections(model, args.facts))
        self.vocabulary = len(word_embeddings(model, args.facts))

    def __call__(self, item: Item, prepared: list[tuple[Ids, TokenBlock]] | None) -> Made:
        """Read the shards of one group in their order."""
        batches = self.args.batches(item, lambda: self.tokenizer) if prepared is None else iter(prepared)
        columns, pad_id = len(self.reader.layers) * len(VALUES) * self.reader.heads, self.tokenizer.pad_id
        sums = GroupedSums(self.vocabulary, columns, torch.device(self.args.device))
        unscored = [i for ids, tokens in counting(batches) for i in self.reader.add(ids, tokens, pad_id, sums)]
        moments = sums.result()
        notes = {"sentences": item["sentences"], "unscored": sorted(unscored), "tokens": int(moments.count.sum())}
        return {shard_file(CONTEXTUAL, item["shard"]): Noted(write_arrays(**vars(moments)), notes)}
