"""What `psi` would do: of the word embeddings alone, and over the corpus."""

import math
import time

import numpy as np

from jobs.stage.corpus_pass import CorpusPass, PassArgs
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, by_workers, of_all, spread_seconds
from jobs.stage.runner import Stage
from jobs.steps.psi.contextual import CONTEXTUAL, GroupReader, group_step
from jobs.steps.psi.static import PsiArgs, clusters_step, layers_step
from ops.errors import counted
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.model.tokenizer import Tokenizer
from ops.psi.psi import VALUES
from ops.reducers.token_moments import TokenSums

# Measured with the packaged model (jobs/psi.py): seconds of a run of k-means, and of all values, one core.
KMEANS_S, VALUES_S, TOKENS, CLUSTERS, WIDTH = 30.0, 3.0, 30_522, 1_000, 384
TOKEN_ROW, CLUSTER_ROW, CONTEXT_ROW = 18, 60, 38  # bytes of a row, nearly all of them floats
FIGURES_BYTES = 2_000_000
COUNTED = 5_000  # sentences of which distinct tokens are counted


def plan_vocabulary(record: DryRun, stage: Stage, args: PsiArgs, runs: int, tokens: int, heads: int) -> None:
    """Say what the part of the word embeddings would do.

    Args:
        record, stage: the run, and the stage begun.
        args: what the workers would be made from.
        runs: runs of k-means.
        tokens, heads: of the vocabulary, and of a layer.
    """
    clusters, layers = clusters_step(args, runs), layers_step(args)
    to_cluster, to_measure = len(stage.missing(clusters)), len(stage.missing(layers))
    width, each = args.facts.width, args.facts.layers
    kmeans = KMEANS_S * tokens / TOKENS * args.clusters / CLUSTERS * width / WIDTH
    values = VALUES_S * tokens / TOKENS * width / WIDTH
    seconds = spread_seconds(record, to_cluster, stage.workers, kmeans * to_cluster)
    seconds += spread_seconds(record, to_measure, stage.workers, values * to_measure / each)
    work = [
        f"cluster {counted(tokens, 'token')} into {args.clusters:,}: {of_all(to_cluster, runs, 'run')} of k-means",
        f"measure {of_all(to_measure, each, 'layer')} of {heads} heads",
    ]
    kept = each * heads * (tokens * TOKEN_ROW + args.clusters * CLUSTER_ROW) + tokens * TOKEN_ROW + FIGURES_BYTES
    basis = ["nothing timed: measured with the packaged model (jobs/psi.py), by sizes", by_workers(stage.workers)]
    record.plan("psi", Plan(work, seconds, kept, runs * tokens * 4, basis), {"tokens": tokens, "heads": heads})


def plan_contextual(record: DryRun, job: CorpusPass, tokenizer: Tokenizer) -> None:
    """Say what the part over the corpus would do.

    Args:
        record, job: the run and the pass.
        tokenizer: the model's.
    """
    args = job.args
    estimate = PassEstimate(record, job, group_step(job), tokenizer)
    static = record.require("psi")["counts"]
    timed = time_contextual(estimate, args) if estimate.can_time else None
    rows = args.facts.layers * static["heads"]
    distinct = distinct_tokens(estimate.sample, tokenizer, job.shards.sentences, static["tokens"])
    in_group = distinct_tokens(estimate.sample, tokenizer, min(job.shards.size, job.shards.sentences), static["tokens"])
    plan = Plan(
        [estimate.work("read"), f"about {counted(distinct, 'distinct token')}"],
        None if timed is None else estimate.seconds(timed.seconds_for(estimate.sentences)),
        distinct * rows * CONTEXT_ROW,
        len(job.shards) * in_group * rows * len(VALUES) * 16,
        estimate.basis(timed),
    )
    record.plan(CONTEXTUAL, plan, {"scored": job.shards.sentences})


def time_contextual(estimate: PassEstimate, args: PassArgs) -> TimedBatches:
    """Read some batches as a worker does."""
    reader = GroupReader(args)
    sums = TokenSums(reader.vocabulary, reader.columns, reader.device)
    sample = estimate.sample
    pad_id = estimate.tokenizer.pad_id
    reader.reader.add(sample.sent_ids[:8], estimate.tokenizer.encode(sample.texts[:8]), pad_id, sums)
    batches = estimate.batches()
    started = time.perf_counter()
    for ids, tokens in batches:
        reader.reader.add(ids, tokens, pad_id, sums)
    batches.seconds = time.perf_counter() - started
    return batches


def distinct_tokens(sample: Sentences, tokenizer: Tokenizer, sentences: int, vocabulary: int) -> int:
    """Return how many distinct tokens so many sentences have, by the growth from half of a sample to all of it."""
    encoded = tokenizer.encode(sample.texts[:COUNTED])
    chosen = np.random.default_rng(0).permutation(len(encoded))
    half, whole = (len({i for row in rows for i in encoded[row].ids}) for rows in (chosen[: len(chosen) // 2], chosen))
    power = math.log2(whole / half) if half else 1.0
    return int(min(whole * (sentences / len(encoded)) ** power, vocabulary))
