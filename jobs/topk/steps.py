"""The stage `topk`: a pilot fixes what all shards share, the shards are scored and merged, and tables are written."""

import math
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jobs.engine.item import Item
from jobs.engine.machines import asked_for_gpus
from jobs.engine.progress import say
from jobs.ingest.steps import ingest_where_named
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.stage.checks import check_pass
from jobs.stage.corpus_pass import CorpusPass, begin_pass
from jobs.stage.dry_run import size
from jobs.stage.outputs import read_notes, shard_file
from jobs.stage.ranges import range_part, table_ranges
from jobs.stage.step import Step, Steps
from jobs.topk.dictionaries import SITE, check_options, options_of, report_pilot, values_of_sample
from jobs.topk.job import TopkConfig
from jobs.topk.score import (
    BOUNDS,
    PILOT_FILE,
    PilotScorer,
    RangeMerger,
    ScoreArgs,
    ShardWorker,
    prepare_shard,
    tables_of,
)
from ops.dictionaries.description import Description
from ops.dictionaries.read import absolute, describe_all, parse
from ops.errors import counted
from ops.model.activations import ScoreOptions, site_widths
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts
from ops.model.pooling import check_pool
from ops.model.tokenizer import FAR, Tokenizer
from ops.sampling import ACTIVATIONS, draw, pilot_size
from ops.shards import Ids
from ops.topk.datasets import Datasets
from ops.topk.neurons import Neurons
from ops.topk.pilot import Pilot
from ops.topk.room import check_room, state_bytes
from ops.topk.sentences import account, write_activations, write_unscored
from ops.topk.shared_bounds import BoundPublisher, CorpusBounds
from ops.topk.times import Times

ATTEMPTS = 3  # number of attempts at a shard whose partial file is damaged
LEAST_SENTENCES = 20  # sentences per winner below which a warning is printed
EMITTED = 1.4  # candidates that several workers find, as a multiple of what one would (docs/scale.md)
LITTLE = 1 << 27  # bytes of partial files that are merged in this process


# A part of the steps that returns the counts of sentences and the damaged shards.
Merging = Generator[Sequence[Step], list[Item] | None, tuple[dict[str, Any], dict[int, str]]]


class Prepared(NamedTuple):
    """The checked inputs, known before the pass begins.

    Attributes:
        dictionaries: the sparse dictionaries whose features are the units, by layer; empty if the units are neurons.
        chosen: options that the sparse dictionaries determine.
    """

    facts: ModelFacts
    tokenizer: Tokenizer
    neurons: Neurons
    dictionaries: tuple[Description, ...]
    chosen: dict[str, Any]


def topk(config: TopkConfig, run: Run) -> None:
    """Run the stage, or the missing part of it, after `ingest` if sources are named."""
    prepared = prepare(config, run)
    ingest_where_named(config, run)
    find_winners(config, run, prepared)


def prepare(config: TopkConfig, run: Run) -> Prepared:
    """Check options, sources, model and dictionaries, cheapest first."""
    if config.dictionary:
        parse(config.dictionary)
        check_options(config)
    facts, tokenizer = check_pass(config, run)
    if config.dictionary:
        dictionaries = describe_all(config.dictionary, facts)
        neurons = Neurons.of_layers({dictionary.layer: dictionary.features for dictionary in dictionaries})
        chosen = options_of(config, dictionaries, is_decoder(facts))
        # Local dictionaries are recorded by their absolute paths, so that later jobs find them from any folder.
        chosen["dictionary"] = tuple(f"{own.layer}={absolute(own.asked.path)}" for own in dictionaries)
        return Prepared(facts, tokenizer, neurons, dictionaries, chosen)
    check_pool(config.pool, config.special_tokens, facts, tokenizer.has_cls)
    return Prepared(facts, tokenizer, Neurons(site_widths(facts, config.site)), (), {})


def find_winners(config: TopkConfig, run: Run, prepared: Prepared) -> None:
    """Run the stage, or the missing part of it, with the result of `prepare`; the corpus must exist."""
    config = config.model_copy(update=prepared.chosen)
    names = ("k", "poles", "site", "pool", "special_tokens", "activation_sample", "pilot")
    depends_on = {name: getattr(config, name) for name in names}
    if prepared.dictionaries:
        depends_on |= {"site": SITE, "dictionaries": {str(d.layer): d.fingerprint for d in prepared.dictionaries}}
    if config.k_per_dataset:
        depends_on["k_per_dataset"] = config.k_per_dataset
    datasets = Datasets.chosen(config.k_per_dataset, run.require("ingest")["counts"]["sources"])
    job = begin_pass("topk", config, run, prepared.facts, prepared.tokenizer, depends_on, model_of_the_run=True)
    if job is None:
        return
    args = score_args(config, prepared, datasets, job)
    neurons, poles, sampled = len(args.neurons), len(args.poles), min(config.activation_sample, job.sentences)
    rows = {
        "topk": neurons * poles * args.k, "topk_by_dataset": neurons * poles * datasets.winners if datasets.k else 0,
        "neurons": neurons, "activations": sampled * values_of_sample(neurons, prepared.dictionaries),
    }  # fmt: skip
    counts = {
        "scored": job.sentences, "unscored": 0, "activation_sample": sampled, "neurons": neurons, "poles": poles,
        "k": args.k, "k_per_dataset": datasets.k,
        "datasets": dict(zip(datasets.names, datasets.sizes, strict=True)),
    }  # fmt: skip
    notes = [f"winners so far take {size(state_bytes(neurons, args.k, poles, datasets))} of each worker's memory"]
    if prepared.dictionaries:
        matrices = ", ".join(f"{size(d.matrix_bytes)} for layer {d.layer}" for d in prepared.dictionaries)
        notes.append(f"matrices of dictionaries take {matrices} of each worker's memory")
    if datasets.k:
        notes.insert(0, f"keep {datasets.said(job.corpus['counts']['sources'])}")
    job.stage.complete(topk_steps(config, prepared, job, args), rows, counts, notes)


def score_args(config: TopkConfig, prepared: Prepared, datasets: Datasets, job: CorpusPass) -> ScoreArgs:
    """Return the arguments of the workers of the pilot and the shards, after checking that there is enough space."""
    placement, shards, args = job.placement, job.shards, job.args
    poles = ("top", "bottom") if config.poles == "both" else (config.poles,)
    k = min(config.k, shards.sentences)
    if few := many_winners(k, shards.sentences):
        job.stage.say(few)
    sparse = bool(prepared.dictionaries) and prepared.dictionaries[0].sparse
    units = len(prepared.neurons)
    check_room(args.store, units, config.k, len(poles), config.activation_sample, shards, sparse, datasets)
    return ScoreArgs(
        store=args.store, seed=args.seed, fingerprint=job.stage.fingerprint, facts=args.facts,
        neurons=prepared.neurons, k=k,
        options=ScoreOptions(
            config.site, config.pool, config.special_tokens, placement.device, config.dtype, config.threads
        ),
        poles=poles, token_budget=placement.token_budget, kept=args.kept, sharing=not config.no_sharing,
        dictionaries=prepared.dictionaries, datasets=datasets,
        block=None if config.feature_block == "auto" else config.feature_block,
    )  # fmt: skip


def many_winners(k: int, sentences: int) -> str:
    """Return a warning if K is so large a part of the corpus that winners differ little from the rest."""
    if k * LEAST_SENTENCES <= sentences:
        return ""
    few = f"K = {k:,} is more than one in {LEAST_SENTENCES} of the {counted(sentences, 'sentence')}"
    return f"{few}, so winners differ little from the rest; a smaller --k is more informative"


def topk_steps(config: TopkConfig, prepared: Prepared, job: CorpusPass, args: ScoreArgs) -> Steps:
    """Score a pilot and all shards, merge them, write the tables and return the counts."""
    times, stage, datasets = Times(), job.stage, args.datasets
    sampled = job.shards.split(draw(job.shards.sentences, config.activation_sample, config.seed, ACTIVATIONS))
    pilot_first = pilot_step(job, args, config.pilot)
    if stage.is_planned:
        yield [pilot_first, shard_step(job, args, sampled), merge_step(job, args, {})]
        return {}
    if datasets.k:
        stage.say(f"also keeps {datasets.said(job.corpus['counts']['sources'])}")
    if stage.missing(pilot_first):
        stage.say("scoring a pilot for the histograms' edges")
        workers = min(job.placement.workers or 1, len(job.numbers))
        # A cluster starts its GPU machines in the meantime.
        with times.of("pilot"), asked_for_gpus(workers - 1 if job.placement.reads_ahead else 0):
            yield [pilot_first]
    pilot = Pilot.read(stage.store, PILOT_FILE.path)
    explained = report_pilot(prepared.dictionaries, pilot.explained, stage.say)
    if pilot.excess > FAR:
        stage.say(
            f"warning: the tokenizer makes {pilot.excess:.1f} times as many tokens as its vocabulary allows, as "
            "if it had lost merges; compare its merges.txt or tokenizer.json with the original"
        )
    args = replace(args, equal_lengths=pilot.equal_lengths)
    if args.facts.part:
        stage.say(f"reads the {args.facts.part} of {args.facts.name}; its other parts are dropped")
    if args.equal_lengths:
        kind = args.facts.model_type
        stage.say(f"padding changes what a {kind} computes, so batches have sentences of one length")
    for attempt in range(1, ATTEMPTS + 1):
        step = shard_step(job, args, sampled)
        with shared_bounds(job, args, pilot, step) as shared:
            times.count((yield [shared]) or [])
        with times.of("merge"):
            counts, damaged = yield from merged_tables(job, args)
        if not damaged:
            break
        if attempt == ATTEMPTS:
            raise RuntimeError(f"topk: {sorted(damaged)} were damaged {ATTEMPTS} times; check the disk of --out")
        for shard, why in sorted(damaged.items()):
            path = shard_file("topk", shard).path
            stage.say(f"{path} is damaged ({why}) and is scored again")
            stage.store.delete(path)
    stage.say(str(times))
    neurons = args.neurons
    counts |= {"neurons": len(neurons), "layers": len(neurons.layers), "seconds": times.result()}
    if datasets.k:
        counts["datasets"] = dict(zip(datasets.names, datasets.sizes, strict=True))
    if explained:
        leaves_first = is_decoder(args.facts) and args.options.special_tokens == "exclude"
        counts |= {"dictionaries": explained, "leaves_first": leaves_first}
    return counts | {"equal_lengths": args.equal_lengths}


def pilot_step(job: CorpusPass, args: ScoreArgs, at_most: int) -> Step:
    """Return the step that scores a sample of at most `at_most` sentences and fixes the edges of the histograms."""
    item = {"sentences": job.shards.sentences, "size": job.shards.size, "seed": job.args.seed, "pilot": at_most}
    passes = pilot_size(job.sentences, at_most) / max(job.sentences, 1)
    return Step(
        name="topk: pilot", items=[item], outputs=lambda _: [PILOT_FILE], worker=PilotScorer, args={"args": args},
        holds=job.placement.holds, actors=True, estimate=partial(job.seconds, passes=passes),
    )  # fmt: skip


def shard_step(job: CorpusPass, args: ScoreArgs, sampled: list[Ids]) -> Step:
    """Return the step that scores the shards; `sampled` lists the sentences of the activation sample in each shard."""
    return job.shard_step(
        ShardWorker,
        {"args": args},
        partial(prepare_shard, args=args),
        lambda item: {"sample": sampled[item["shard"]].tolist()},
        **({"estimate": lambda _: None} if args.dictionaries else {}),
    )


@contextmanager
def shared_bounds(job: CorpusPass, args: ScoreArgs, pilot: Pilot, step: Step) -> Iterator[Step]:
    """Yield the step of the shards, whose workers share the thresholds of their winners if there are several."""
    todo = job.stage.missing(step)
    if not args.sharing or min(job.placement.workers or len(todo), len(todo)) < 2:
        yield replace(step, args={"args": replace(args, sharing=False)})
        return
    bounds = CorpusBounds(pilot.edges, args.k, args.datasets, job.shards)
    publisher = BoundPublisher(
        job.stage.store, BOUNDS, args.fingerprint, bounds, lambda shard: shard_file("topk", shard).path, say
    )
    with ThreadPoolExecutor(1) as publishing:
        # Late bounds only make files larger, so no worker's row waits for them.
        waiting = deque(set(range(len(job.shards))) - {item["shard"] for item in todo})

        def publish(row: Item) -> None:
            waiting.append(row["shard"])
            publishing.submit(publisher.add, waiting)

        publishing.submit(publisher.add, waiting)
        try:
            yield replace(step, each=publish)
        finally:
            publishing.shutdown(cancel_futures=True)


def merged_tables(job: CorpusPass, args: ScoreArgs) -> Merging:
    """Write all tables from the shards' partial files, as a part of the steps.

    Returns:
        The counts of sentences, and the shards whose partial files are damaged, each with the error. If a range of
        neurons reads a damaged file, its parts are not written.
    """
    store, fingerprint = job.stage.store, args.fingerprint
    notes = read_notes(store, job.partials)
    counts = account(job.corpus["counts"], write_unscored(store, notes, fingerprint))
    paths = [output.path for output in job.partials]
    with ThreadPoolExecutor(1) as writing:
        # Both functions read the partial files, and neither reads the files that the other writes.
        activations = writing.submit(write_activations, store, args.neurons, paths, notes, fingerprint, args.sparse)
        rows = yield [merge_step(job, args, notes)]
        counts["activation_sample"], damaged_samples = activations.result()
    damaged = {int(shard): why for row in rows or [] for shard, why in row.get("damaged", {}).items()}
    return counts, damaged | damaged_samples


def expected_candidates(args: ScoreArgs, sentences: int) -> float:
    """Return how many candidates all shards hold: `EMITTED` times those of one worker, K (1 + ln(N / K))."""
    each = [(args.k, sentences), *((min(args.datasets.k, size), size) for size in args.datasets.sizes)]
    one_set = sum(min(k * (1 + math.log(size / k)) * EMITTED, size) for k, size in each if k)
    return one_set * len(args.neurons) * len(args.poles)


def merge_step(job: CorpusPass, args: ScoreArgs, notes: Any) -> Step:
    """Return the step that merges the shards into tables, range by range of neurons; `notes` are the shards'."""
    neurons, datasets = len(args.neurons), args.datasets
    # Merging this much data (the activation sample aside) takes less time than the start of a pool.
    sampled = sum(len(note["sampled"]) for note in notes)
    here = job.stage.store.size(STAGES["topk"].partials) - 4 * sampled * neurons < LITTLE
    given = {
        "store": job.stage.store, "neurons": args.neurons, "shards": len(job.shards), "k": args.k, "poles": args.poles,
        "datasets": datasets,
        "largest": np.max([np.zeros(len(args.neurons.widths)), *(note["largest"] for note in notes)], axis=0),
    }  # fmt: skip
    return Step(
        name="topk: merge", items=table_ranges(neurons), worker=RangeMerger, args=given, here=here,
        outputs=lambda item: [range_part(table, item) for table in tables_of(datasets)], unit="ranges of neurons",
        amount=expected_candidates(args, job.sentences),
    )  # fmt: skip
