"""Measure how much each attention head stretches each token: the norm stretch ratio psi of Maeda 2024.

    python -m jobs.psi --out runs/psi --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.psi --out s3://bucket/run --preset paper --model bert-base-uncased

Writes psi/vocabulary, psi/tokens, psi/clusters and psi/agreement from the word embeddings alone; psi/contextual from
the corpus, where there is one (corpus/, or --corpus); and figures, as PNG and SVG, below psi/figures/. Look at a head
with python -m jobs.show --out runs/psi --psi 4:2.

What to expect (packaged model, float32, November 2026): a run of k-means takes 30 s of a core, all values of the word
embeddings 3 s, the corpus 1.06 times the forward pass alone. 20,000 sentences of 27 tokens took 12 min in all on two
cores with ten busy processes beside them. Beside the model, a worker of the corpus takes 16 bytes for each token of the
vocabulary, layer, head and value, and twice that more while it commits; the driver five times that while it merges
(measured: 140, 300 and 760 MB; bert-base twice as much).
"""

import sys
import time

import numpy as np
import pyarrow as pa
from pydantic import Field
from torch import nn

from jobs._config import main
from jobs._engine import fan_out, pool_size
from jobs._progress import Progress
from jobs._psi import (
    CONTEXTUAL,
    STATIC,
    ContextualArgs,
    GroupReader,
    LayerMeasurer,
    PsiArgs,
    VocabularyClusterer,
    labels_file,
    read_group,
    read_labels,
)
from jobs._record import Run
from jobs._stream import INGEST_ONLY, SideConfig, check_ingest_options, describe, read_sources, require_corpus, start
from jobs._stream import prepare as prepare_stream
from ops import sampling
from ops.errors import InputError
from ops.model.architectures import check_architecture
from ops.model.head_projections import head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model, read_facts
from ops.model.tokenizer import Tokenizer
from ops.psi.figures import draw_contextual, draw_static
from ops.psi.psi import VALUES
from ops.psi.tables import contextual_rows, vocabulary_rows
from ops.psi.vocabulary_clusters import SUPERCLUSTERS, Labels, agreements, centroids, default_clusters, k_means
from ops.reducers.token_moments import TokenMoments
from ops.schema import schema
from ops.shards import Shards
from ops.storage.store import Store, is_whole
from ops.storage.tables import part_name, write_part

PARTIALS_BYTES = 16e9
CONTEXTUAL_FIGURE = "psi/figures/static_contextual.svg"


class PsiConfig(SideConfig):
    """Options of `psi`, and those of `ingest` for when --corpus is given."""

    clusters: int | None = Field(
        None,
        ge=1,
        description="clusters of the vocabulary by k-means; none given: 1,000 for 30,522 tokens, in proportion",
    )
    cluster_seeds: int = Field(5, ge=1, description="runs of k-means whose agreement is measured; the first is used")
    static_only: bool = Field(False, description="leave the corpus out: the word embeddings alone")
    group_size: int | None = Field(
        None, ge=1, description="shards that share a partial file; none given: as many as keep all of them below 16 GB"
    )


def run(config: PsiConfig) -> None:
    """Measure the word embeddings, and the corpus where there is one; only what is missing of it."""
    record = Run(config.out)
    contextual = not config.static_only and (bool(config.corpus) or record.complete("ingest"))
    facts, tokenizer, model = prepare(config, record, contextual)
    measure_vocabulary(config, facts, tokenizer, model)
    if not contextual:
        why = "--static-only" if config.static_only else "there is no corpus/ and no --corpus"
        print(f"psi: {why}: the word embeddings alone were measured, psi/contextual is left out", file=sys.stderr)
        return
    read_sources(config)
    measure_corpus(config, facts, tokenizer)


def prepare(config: PsiConfig, record: Run, contextual: bool) -> tuple[ModelFacts, Tokenizer, nn.Module]:
    """Check options, sources and model, and return what is known of the model, its tokenizer and itself.

    Raises:
        InputError: something is missing or does not fit.
    """
    if config.static_only and config.corpus:
        raise InputError("--static-only with --corpus: no corpus is read; leave one of the two out")
    if contextual:
        facts, tokenizer = prepare_stream(config, record)
        if not config.corpus:
            require_corpus(config, tokenizer, record)
    else:
        check_ingest_options(config)
        facts = read_facts(config.model)
        tokenizer = Tokenizer(facts)
    check_architecture(facts.model_type, facts.name)
    model = load_model(facts, "cpu", "float32")
    head_projections(model, facts)
    vocabulary = len(word_embeddings(model, facts))
    if config.clusters is not None and config.clusters > vocabulary:
        raise InputError(
            f"--clusters {config.clusters}: {config.model} has a vocabulary of {vocabulary} tokens; give fewer clusters"
        )
    return facts, tokenizer, model


def measure_vocabulary(config: PsiConfig, facts: ModelFacts, tokenizer: Tokenizer, model: nn.Module) -> None:
    """Write the tables and figures of the word embeddings."""
    started = time.monotonic()
    vectors = word_embeddings(model, facts).numpy()
    clusters = config.clusters or default_clusters(len(vectors))
    identity = {
        "clusters": clusters,
        "cluster_seeds": config.cluster_seeds,
        "model": facts.fingerprint,
        "tokenizer": tokenizer.fingerprint,
        "seed": config.seed,
    }
    options = {n: v for n, v in config.model_dump(mode="json").items() if n not in INGEST_ONLY}
    record = Run(config.out)
    fingerprint = record.begin(STATIC, identity, {**options, "clusters": clusters}, config.redo)
    if record.complete(STATIC):
        print(f"{STATIC}: done before, {record.require(STATIC)['counts']['tokens']:,} tokens", file=sys.stderr)
        return
    record.record["stages"][STATIC]["model"] = describe(facts)
    store = record.store
    args = PsiArgs(config.out, facts, fingerprint, clusters, config.seed)
    workers = pool_size(config.workers)

    labellings = cluster(store, args, config.cluster_seeds, workers)
    centres = centroids(vectors, labellings[0])
    rng = np.random.default_rng([config.seed, sampling.SUPERCLUSTERS])
    superclusters = k_means(centres, min(SUPERCLUSTERS, len(centres)), rng)
    names = tokenizer.decode(list(range(len(vectors))))
    vocabulary = vocabulary_rows(names, tokenizer.special, vectors, labellings[0], superclusters)
    write_part(store, "psi/vocabulary", 0, schema("psi/vocabulary"), [vocabulary], fingerprint)
    found = agreements(labellings)
    columns = dict(zip(schema("psi/agreement").names, zip(*found, strict=True), strict=True)) if found else {}
    agreement = [pa.table(columns, schema=schema("psi/agreement"))] if found else []
    write_part(store, "psi/agreement", 0, schema("psi/agreement"), agreement, fingerprint)

    measure_layers(store, args, facts.layers, workers)
    draw_static(store, model, facts)
    counts = {
        "tokens": len(vectors),
        "clusters": len(centres),
        "superclusters": int(superclusters.max()) + 1,
        "rand_index": round(float(np.mean([f[2] for f in found])), 4) if found else None,
        "layers": facts.layers,
        "heads": head_projections(model, facts)[0].heads,
    }
    record.finish(STATIC, counts, time.monotonic() - started)
    if not config.keep_partials:
        store.delete(f"_partials/{STATIC}/vocabulary")


def cluster(store: Store, args: PsiArgs, runs: int, workers: int) -> list[Labels]:
    """Return the clusters of the vocabulary by each of several runs of k-means."""
    todo = [{"run": i} for i in range(runs) if not is_whole(store, labels_file(i), args.fingerprint, f"run-{i}")]
    with Progress("psi: clusters", runs, "runs of k-means", runs - len(todo)) as progress:
        for _ in fan_out(todo, VocabularyClusterer, {"args": args}, workers=workers):
            progress.add()
    return [read_labels(store, i) for i in range(runs)]


def measure_layers(store: Store, args: PsiArgs, layers: int, workers: int) -> None:
    """Write the parts of `psi/tokens` and `psi/clusters`, one a layer."""
    tables = ("psi/tokens", "psi/clusters")
    todo = [
        {"layer": i}
        for i in range(layers)
        if not all(is_whole(store, part_name(t, i), args.fingerprint, f"layer-{i}") for t in tables)
    ]
    with Progress("psi: word embeddings", layers, "layers", layers - len(todo)) as progress:
        for _ in fan_out(todo, LayerMeasurer, {"args": args}, workers=workers):
            progress.add()


def measure_corpus(config: PsiConfig, facts: ModelFacts, tokenizer: Tokenizer) -> None:
    """Write `psi/contextual` and the figure that sets it against the word embeddings."""
    record = Run(config.out)
    tokens, heads = (record.require(STATIC)["counts"][n] for n in ("tokens", "heads"))
    corpus = record.require("ingest")
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    columns = facts.layers * len(VALUES) * heads
    group = config.group_size or group_size(len(shards), tokens * columns * 16)
    job = start(CONTEXTUAL, config, facts, tokenizer, {}, group)
    if job is not None:
        place = job.place
        args = ContextualArgs(
            config.out, facts, job.fingerprint, place.device, config.dtype, place.threads, place.token_budget
        )
        job.each_shard(GroupReader, {"args": args})
        moments = TokenMoments.empty(columns)
        unscored: list[int] = []
        counted = 0
        for number in range(len(job.shards)):
            found, notes = read_group(record.store, number)
            moments = moments.merge(found)
            unscored += notes["unscored"]
            counted += notes["tokens"]
        rows = contextual_rows(moments, facts.layers, heads)
        write_part(record.store, "psi/contextual", 0, schema("psi/contextual"), rows, job.fingerprint)
        record.store.delete(CONTEXTUAL_FIGURE)
        counts = {"tokens": counted, "distinct_tokens": len(moments.ids), "first_unscored": unscored[:20]}
        job.finish(job.corpus["counts"]["sentences"] - len(unscored), len(unscored), counts)
    # The static part drops its figures when it is done again, and this one with them.
    if job is not None or not record.store.exists(CONTEXTUAL_FIGURE):
        draw_contextual(record.store, facts.layers)


def group_size(shards: int, partial_bytes: int) -> int:
    """Return how many shards share a partial file, so that all files together stay below `PARTIALS_BYTES`."""
    return -(-shards // max(int(PARTIALS_BYTES // partial_bytes), 1))


if __name__ == "__main__":
    sys.exit(main(PsiConfig, "psi", str(__doc__).splitlines()[0], run))
