"""What `topk` would do."""

import math
import time

import numpy as np
import torch

from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, of_all
from jobs.stage.runner import Step
from jobs.steps.topk.merge import merge_step
from jobs.steps.topk.pilot import ScoreArgs, read_widths
from jobs.steps.topk.score import ShardWorker
from ops.estimate.spread import spread
from ops.estimate.timed_batches import TimedBatches
from ops.estimate.topk_bytes import activations_bytes, neurons_bytes, winners_bytes
from ops.model.activations import Scorer
from ops.model.batches import encode_batches
from ops.model.tokenizer import Tokenizer
from ops.reducers.histogram import edges_from_pilot
from ops.sampling import pilot_size
from ops.topk.room import needed_bytes
from ops.topk.score_shard import ShardScorer, score_batch

# Measured on one core (docs/scale.md): seconds of writing a candidate, and of merging it, its share of the tables
# included; and the candidates of a neuron and pole over the K (1 + ln(N / K)) of a single worker.
WRITE_S, MERGE_S, EMITTED = 45e-9, 0.24e-6, 1.4
EDGES_FROM = 64  # sentences
MOST_K = 1_000  # in the timed reducers, which are not to take gigabytes here


def plan_topk(record: DryRun, job: CorpusPass, args: ScoreArgs, pilot: Step, sample: int, tokenizer: Tokenizer) -> None:
    """Say what the stage would do.

    Args:
        record, job: the run and the pass.
        args: what the workers would be made from.
        pilot: the step of the pilot.
        sample: most sentences of the activation sample.
        tokenizer: the model's.
    """
    estimate = PassEstimate(record, job, job.shard_step(ShardWorker, {"args": args}), tokenizer)
    sentences, k, poles, store = job.shards.sentences, args.k, len(args.poles), job.stage.store
    timed, shard_s, neurons = time_scoring(estimate, args) if estimate.can_time else (None, 0.0, 0)
    piloted = 0
    if job.stage.missing(pilot):
        piloted = pilot_size(sentences, pilot.items[0]["pilot"])
        neurons = neurons or args.facts.layers * args.facts.width
    else:
        neurons = sum(read_widths(store))
    merge = merge_step(neurons, {})
    to_merge = len(job.stage.missing(merge))
    sample = min(sample, sentences)

    scoring = estimate.work("score")
    ranges = f"merge {of_all(to_merge, len(merge.items), 'range')} of {neurons:,} neurons, K = {k:,}"
    seconds = None
    if timed is not None:
        candidates = min(k * (1 + math.log(sentences / k)) * EMITTED, sentences) * neurons * poles
        new = candidates * estimate.sentences / sentences
        seconds = timed.seconds_for(piloted)
        scoring_s = timed.seconds_for(estimate.sentences) + shard_s * len(estimate.missing)
        seconds += estimate.seconds(scoring_s + new * WRITE_S)
        seconds += candidates * MERGE_S * to_merge / len(merge.items) / (job.placement.workers or 1)
    plan = Plan(
        [f"score a pilot of {piloted:,} sentences" if piloted else "the pilot was scored before", scoring, ranges],
        seconds,
        winners_bytes(neurons, k, poles, sentences)
        + neurons_bytes(neurons, sentences)
        + activations_bytes(neurons, sample),
        sum(needed_bytes(neurons, k, poles, sample, job.shards)),
        estimate.basis(timed),
    )
    counts = {
        "scored": sentences,
        "unscored": 0,
        "activation_sample": sample,
        "neurons": neurons,
        "poles": poles,
        "k": k,
    }
    record.plan("topk", plan, counts)


def time_scoring(estimate: PassEstimate, args: ScoreArgs) -> tuple[TimedBatches, float, int]:
    """Score and reduce some batches as a worker does.

    Returns:
        The batches, what a shard takes besides its sentences, and the number of neurons.
    """
    tokenizer, sample = estimate.tokenizer, estimate.sample
    scorer = Scorer(args.facts, args.options, tokenizer.pad_id)
    rows = np.array(spread(len(sample.texts))[:EDGES_FROM])
    some = (sample.sent_ids[rows], [sample.texts[row] for row in rows], sample.n_tokens[rows])
    scored = [
        score_batch(scorer, tokens) for _, tokens in encode_batches(*some, tokenizer, args.token_budget, args.lengths)
    ]
    values = torch.cat([values[finite] for values, finite, _ in scored]).cpu()
    edges = edges_from_pilot(values if len(values) else torch.zeros(1, values.shape[1]))
    shards = ShardScorer(scorer, min(args.k, MOST_K), args.poles, edges)
    shards.warm_up(args.token_budget, args.facts.position_limit)
    batches = estimate.batches()
    started = time.perf_counter()
    shards.run((0, len(sample.texts)), iter(batches), np.zeros(0, np.int64))
    whole = time.perf_counter() - started
    started = time.perf_counter()
    shards.run((0, 0), iter(()), np.zeros(0, np.int64))
    shard_s = time.perf_counter() - started
    batches.seconds = max(whole - shard_s, batches.seconds)
    return batches, shard_s, len(edges)
