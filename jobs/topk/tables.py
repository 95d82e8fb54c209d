"""The stage `topk`, which scores a pilot and the shards, merges them and writes the tables; its plan for --dry-run."""

import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun, Plan, size
from jobs.stage.estimate import PassEstimate, of_all
from jobs.stage.outputs import read_notes, shard_file
from jobs.stage.stages import STAGES
from jobs.topk.dictionaries import report_pilot
from jobs.topk.job import Prepared, TopkConfig
from jobs.topk.merge import BY_DATASET, merge_ranges, merge_step, tables_of
from jobs.topk.score import PILOT_FILE, ScoreArgs, ShardWorker, pilot_step, score_shards
from ops.errors import counted
from ops.estimate.spread import spread
from ops.estimate.timed_batches import TimedBatches
from ops.estimate.topk_bytes import activations_bytes, neurons_bytes, winners_bytes
from ops.model.activations import ScoreOptions
from ops.model.batches import encode_batches
from ops.model.token_excess import FAR
from ops.reducers.histogram import edges_from_pilot, edges_of_sparse
from ops.sampling import ACTIVATIONS, draw, pilot_size
from ops.topk.datasets import Datasets
from ops.topk.neurons import Neurons
from ops.topk.pilot import Pilot
from ops.topk.room import check_room, needed_bytes, state_bytes
from ops.topk.score_shard import ShardScorer, score_batch
from ops.topk.sentences import account, write_activations, write_unscored
from ops.topk.times import Times

ATTEMPTS = 3  # number of attempts at a shard whose partial file is damaged
LEAST_SENTENCES = 20  # sentences per winner below which a warning is printed

# Measured on one core (docs/scale.md): the seconds to write a candidate, the seconds to merge it, its share of the
# tables included, and the number of candidates of a neuron and pole divided by the K (1 + ln(N / K)) of a single
# worker.
WRITE_S, MERGE_S, EMITTED = 45e-9, 0.24e-6, 1.4
EDGES_FROM = 64  # number of sentences from which the edges are set for a plan
MOST_K = 1_000  # largest K in the timed reducers, so that they do not take gigabytes here


def score_args(config: TopkConfig, known: Prepared, datasets: Datasets, job: CorpusPass) -> ScoreArgs:
    """Return the arguments of the workers of the pilot and the shards, after checking that there is enough space.

    Raises:
        InputError: there is not enough space.
    """
    place, shards, own = job.placement, job.shards, job.args
    scoring = ScoreOptions(config.site, config.pool, config.special_tokens, place.device, config.dtype, config.threads)
    poles = ("top", "bottom") if config.poles == "both" else (config.poles,)
    k = min(config.k, shards.sentences)
    warn_of_many(k, shards.sentences)
    sparse = bool(known.dictionaries) and known.dictionaries[0].sparse
    check_room(own.store, len(known.neurons), config.k, len(poles), config.activation_sample, shards, sparse, datasets)
    return ScoreArgs(
        own.store, own.facts, scoring, known.neurons, k, poles, place.token_budget, own.fingerprint, own.kept,
        not config.no_sharing, dictionaries=known.dictionaries,
        block=None if config.feature_block == "auto" else config.feature_block, datasets=datasets,
    )  # fmt: skip


def warn_of_many(k: int, sentences: int) -> None:
    """Warn if K is so large a part of the corpus that winners differ little from the rest."""
    if k * LEAST_SENTENCES > sentences:
        few = f"--k {k:,} is more than one in {LEAST_SENTENCES} of the {counted(sentences, 'sentence')}"
        print(
            f"topk: {few}, so winners differ little from the rest; a smaller --k is more informative", file=sys.stderr
        )


def find_winners(config: TopkConfig, known: Prepared, datasets: Datasets, job: CorpusPass) -> dict[str, Any]:
    """Score a pilot and all shards, merge them, write the tables and return the counts.

    Args:
        config: the options.
        known: the checked inputs.
        datasets: the data sets within which winners are also kept.
        job: the pass.
    """
    times = Times()
    store, args = job.stage.store, score_args(config, known, datasets, job)
    if datasets.k:
        print(f"topk: also keeps {datasets.said(job.corpus['counts']['sources'])}", file=sys.stderr)
    neurons = known.neurons
    step = pilot_step(job, args, config.pilot)
    if job.stage.missing(step):
        print("topk: scoring a pilot for the histograms' edges", file=sys.stderr)
        with times.of("pilot"):
            job.do_first(step)
    pilot = Pilot.read(store, PILOT_FILE.path)
    said = report_pilot(known.dictionaries, pilot.explained)
    if pilot.excess > FAR:
        print(
            f"topk: warning: the tokenizer makes {pilot.excess:.1f} times as many tokens as its vocabulary allows, as "
            "if it had lost merges; compare its merges.txt or tokenizer.json with the original",
            file=sys.stderr,
        )
    args = replace(args, equal_lengths=pilot.equal_lengths)
    if args.equal_lengths:
        kind = args.facts.model_type
        print(f"topk: padding changes what a {kind} computes, so batches have sentences of one length", file=sys.stderr)
    sampled = job.shards.split(draw(job.shards.sentences, config.activation_sample, config.seed, ACTIVATIONS))
    for attempt in range(1, ATTEMPTS + 1):
        times.count(score_shards(job, args, pilot, sampled))
        with times.of("merge"):
            counts, damaged = write_tables(job, args, neurons)
        if not damaged:
            break
        if attempt == ATTEMPTS:
            raise RuntimeError(f"topk: {sorted(damaged)} were damaged {ATTEMPTS} times; check the disk of --out")
        for shard, why in sorted(damaged.items()):
            path = shard_file("topk", shard).path
            print(f"topk: {path} is damaged ({why}) and is scored again", file=sys.stderr)
            store.delete(path)
    print(f"topk: {times}", file=sys.stderr)
    counts |= {"neurons": len(neurons), "layers": len(neurons.layers), "seconds": times.result()}
    if datasets.k:
        counts["datasets"] = dict(zip(datasets.names, datasets.sizes, strict=True))
    if said:
        leaves_first = args.facts.decoder and args.options.special_tokens == "exclude"
        counts |= {"dictionaries": said, "leaves_first": leaves_first}
    return counts | {"equal_lengths": args.equal_lengths}


def write_tables(job: CorpusPass, args: ScoreArgs, neurons: Neurons) -> tuple[dict[str, Any], dict[int, str]]:
    """Write all tables from the shards' partial files.

    Returns:
        The counts of sentences, and the shards whose partial files are damaged, each with the error.
    """
    store, fingerprint = job.stage.store, args.fingerprint
    notes = read_notes(store, job.partials)
    counts = account(job.corpus["counts"], write_unscored(store, notes, fingerprint))
    paths = [output.path for output in job.partials]
    with ThreadPoolExecutor(1) as beside:
        # Both functions read the partial files, and neither reads the files that the other writes.
        activations = beside.submit(write_activations, store, neurons, paths, notes, fingerprint, args.sparse)
        damaged = merge_ranges(job, neurons, args.k, args.poles, notes, args.datasets)
        counts["activation_sample"], damaged_samples = activations.result()
    return counts, damaged | damaged_samples


def plan(config: TopkConfig, known: Prepared, datasets: Datasets, job: CorpusPass, record: DryRun) -> Plan:
    """Return what the stage would do; the arguments are the arguments of `find_winners`, and the run."""
    neurons = len(known.neurons)
    args = score_args(config, known, datasets, job)
    estimate = PassEstimate(record, job, job.shard_step(ShardWorker, {"args": args}))
    sentences, k, poles = job.shards.sentences, args.k, len(args.poles)
    pilot = job.stage.missing(pilot_step(job, args, config.pilot))
    piloted = pilot_size(sentences, config.pilot) if pilot else 0
    merge = merge_step(neurons, {}, tables=tables_of(datasets))
    to_merge = len(job.stage.missing(merge))
    sample = min(config.activation_sample, sentences)
    work = [
        f"score a pilot of {piloted:,} sentences" if pilot else "the pilot was scored before",
        estimate.work("score"),
        f"merge {of_all(to_merge, len(merge.items), 'range')} of {neurons:,} neurons, K = {k:,}",
    ]
    if datasets.k:
        work.append(f"keep {datasets.said(job.corpus['counts']['sources'])}")
    work.append(f"winners so far take {size(state_bytes(neurons, k, poles, datasets))} of each worker's memory")
    timed, seconds = None, None
    if estimate.can_time:
        timed, shard_s = time_scoring(estimate, args)
        each = [(k, sentences), *((min(datasets.k, n), n) for n in datasets.sizes)]
        candidates = sum(min(m * (1 + math.log(n / m)) * EMITTED, n) for m, n in each) * neurons * poles
        scoring_s = timed.seconds_for(estimate.sentences) + shard_s * len(estimate.missing)
        scoring_s += candidates * estimate.sentences / sentences * WRITE_S
        merge_s = candidates * MERGE_S * to_merge / len(merge.items) / (job.placement.workers or 1)
        seconds = timed.seconds_for(piloted) + estimate.seconds(scoring_s) + merge_s
    kept = winners_bytes(neurons, k, poles, sentences) + neurons_bytes(neurons, sentences)
    kept += activations_bytes(neurons, sample)
    if datasets:
        kept += winners_bytes(neurons, datasets.winners, poles, sentences)
    passing = sum(needed_bytes(neurons, k, poles, sample, job.shards, args.sparse, datasets))
    counts: dict[str, Any] = {"scored": sentences, "unscored": 0, "activation_sample": sample}
    counts |= {"neurons": neurons, "poles": poles, "k": k}
    counts |= {"k_per_dataset": datasets.k, "datasets": dict(zip(datasets.names, datasets.sizes, strict=True))}
    tables = [table for table in STAGES["topk"].tables if datasets.k or table != BY_DATASET]
    return Plan(work, seconds, kept, passing, estimate.basis(timed), tables, counts)


def time_scoring(estimate: PassEstimate, args: ScoreArgs) -> tuple[TimedBatches, float]:
    """Score and reduce some batches as a worker does; return them and a shard's fixed overhead in seconds."""
    tokenizer, sample = estimate.tokenizer, estimate.sample
    scorer = args.scorer(tokenizer.pad_id)
    rows = np.array(spread(len(sample.texts))[:EDGES_FROM])
    some = (sample.sent_ids[rows], [sample.texts[row] for row in rows], sample.n_tokens[rows])
    scored = [
        score_batch(scorer, tokens) for _, tokens in encode_batches(*some, tokenizer, args.token_budget, args.lengths)
    ]
    values = torch.cat([values[finite] for values, finite, _ in scored]).cpu()
    values = values if len(values) else torch.zeros(1, values.shape[1])
    edges = edges_of_sparse(values.amax(0)) if args.sparse else edges_from_pilot(values)
    few = MOST_K // max(len(args.datasets), 1)
    datasets = replace(args.datasets, k=min(args.datasets.k, few))
    shards = ShardScorer(scorer, min(args.k, MOST_K), args.poles, edges, datasets=datasets)
    shards.warm_up(args.token_budget, args.facts.position_limit)
    none = np.zeros(0, np.int64)
    started = time.perf_counter()
    shards.run((0, 0), iter(()), none)
    shard_s = time.perf_counter() - started
    return estimate.time(lambda batches: shards.run((0, len(sample.texts)), batches, none), besides=shard_s), shard_s
