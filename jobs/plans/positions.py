"""What `positions` would do."""

import time

from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate
from jobs.stage.stages import STAGES
from jobs.steps.positions.measure import PositionsArgs, measure_step, pilot_step
from ops.errors import counted
from ops.estimate.timed_batches import TimedBatches
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer
from ops.positions.compare import EDGES, REFERENCES
from ops.positions.labels import Labelled
from ops.positions.pilot import mean_states, pilot_size
from ops.positions.position_table import DECODERS
from ops.positions.reader import VariantReader
from ops.positions.shard import PositionsScorer
from ops.positions.variants import DEFAULT

ROW_BYTES, VALUE_BYTES = 30, 16  # of the tables; of a number of a group in a partial file
FIGURES_BYTES = 500_000


def plan_positions(
    record: DryRun, job: CorpusPass, args: PositionsArgs, tokenizer: Tokenizer, texts: Labelled | None
) -> None:
    """Say what the stage would do.

    Args:
        record, job: the run and the pass.
        args: what the workers would be made from.
        tokenizer: the model's.
        texts: those of the label check; None without one, or where there is no corpus yet.
    """
    estimate = PassEstimate(record, job, measure_step(job, args, texts), tokenizer)
    timed = time_positions(estimate, args) if estimate.can_time else None
    passes = 1 + len(args.variants)
    pilot = pilot_size(job.shards.sentences) if job.stage.missing(pilot_step(job, args)) else 0
    places = min(int(estimate.sample.n_tokens.max(initial=1)), args.encoding.max_tokens or args.facts.position_limit)
    groups = args.facts.layers * len(args.variants) * 2 * (places + len(CLASSES))
    histograms = args.facts.layers * passes * len(REFERENCES) * (len(EDGES) + 1)
    work = [estimate.work("measure"), f"each {passes} times: {', '.join((DEFAULT, *args.variants))}"]
    if pilot:
        work.insert(0, f"take the mean states of a pilot of {counted(pilot, 'sentence')}")
    if texts is not None:
        work.append(f"classify {counted(len(texts.labels), 'text')} by {counted(len(set(texts.labels)), 'label')}")
    decoder = args.facts.model_type in DECODERS
    tables = [t for t in STAGES["positions"].tables if decoder or "perplexity" not in t]
    labels = "" if _wants_label(job) else "positions/labels"
    seconds = None if timed is None else estimate.seconds(timed.seconds_for(estimate.sentences + pilot))
    kept = groups * ROW_BYTES + histograms * 2 + FIGURES_BYTES
    features = 0 if texts is None else len(texts.labels) * passes * args.facts.width * 4
    partials = len(job.shards) * (groups * VALUE_BYTES + histograms * 2) + features
    plan = Plan(work, seconds, kept, partials, estimate.basis(timed), [t for t in tables if t != labels])
    record.plan("positions", plan, {"scored": job.shards.sentences})


def _wants_label(job: CorpusPass) -> bool:
    return job.stage.entry["config"].get("label") is not None


def time_positions(estimate: PassEstimate, args: PositionsArgs) -> TimedBatches:
    """Measure some batches as a worker does."""
    set_numerics(args.device, args.threads, args.dtype)
    tokenizer = estimate.tokenizer
    reader = VariantReader(args.facts, args.device, args.dtype, args.shift, args.seed)
    some = estimate.sample
    first = iter([(some.sent_ids[:8], tokenizer.encode(some.texts[:8]))])
    means, _ = mean_states(reader, args.variants, first, tokenizer.pad_id, args.device)
    limit = args.facts.position_limit
    scorer = PositionsScorer(
        reader, TokenClasses(tokenizer), args.variants, means, tokenizer.pad_id, limit, args.device
    )
    scorer.measure_shard(iter([(some.sent_ids[:8], tokenizer.encode(some.texts[:8]))]))
    batches = estimate.batches()
    started = time.perf_counter()
    scorer.measure_shard(iter(batches))
    batches.seconds = time.perf_counter() - started
    return batches
