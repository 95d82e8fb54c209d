"""What `mixing` would do."""

import time

import numpy as np

from jobs.plans.corpus_pass import PassEstimate
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.stages import STAGES
from jobs.steps.mixing import MixingArgs, masked, measure_step
from ops.errors import counted
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.mixing.decomposition import LAYER_STAGES
from ops.mixing.pack import pack
from ops.mixing.partial_file import token_rows
from ops.mixing.shard import MixingScorer, measure_shard
from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.tokenizer import Tokenizer
from ops.storage.tables import stored_bytes

ROW_BYTES, GROUP_BYTES = 20, 6 * 8  # of the tables; of a number of a group of tokens in a partial file
FIGURES_BYTES = 500_000


def plan_mixing(record: DryRun, job: CorpusPass, args: MixingArgs, tokenizer: Tokenizer) -> None:
    """Say what the stage would do.

    Args:
        record, job: the run and the pass.
        args: what the workers would be made from.
        tokenizer: the model's.
    """
    estimate = PassEstimate(record, job, measure_step(job, args), tokenizer)
    sample = estimate.sample
    added = sum(tokenizer.encode(["a"])[0].added)
    packed = pack(sample.sent_ids, sample.texts, sample.n_tokens, sample.documents, args.pack, added)
    each = len(packed.texts) / len(sample.texts)
    timed = row_bytes = None
    if estimate.can_time:
        columns = Sentences(packed.first, packed.texts, packed.n_tokens, [])
        timed, row_bytes = time_mixing(estimate, args, columns)
    groups = len(CLASSES) + len(np.unique(packed.n_tokens))
    kept = args.facts.layers * len(LAYER_STAGES) * groups * ROW_BYTES + FIGURES_BYTES
    rows = round(int(packed.n_tokens.sum()) / len(sample.texts) * job.shards.sentences) * args.facts.layers
    work = [estimate.work("measure")]
    if args.pack:
        work.append(f"as about {counted(round(each * estimate.sentences), 'sequence')} of at most {args.pack} tokens")
    if args.per_token:
        work.append(f"write about {counted(rows, 'row')} of mixing/tokens")
        kept += round(rows * (row_bytes or 0))
    seconds = None if timed is None else estimate.seconds(timed.seconds_for(round(each * estimate.sentences)))
    partials = len(job.shards) * groups * args.facts.layers * (len(LAYER_STAGES) + 4) * GROUP_BYTES
    tables = [t for t in STAGES["mixing"].tables if args.per_token or t != "mixing/tokens"]
    basis = estimate.basis(timed, "sentence" if not args.pack else "sequence")
    unknown = args.per_token and row_bytes is None
    plan = Plan(work, seconds, None if unknown else kept, partials, basis, tables)
    record.plan("mixing", plan, {"scored": job.shards.sentences})


def time_mixing(estimate: PassEstimate, args: MixingArgs, packed: Sentences) -> tuple[TimedBatches, float]:
    """Measure some batches as a worker does; return them, and the bytes of a row of mixing/tokens if wanted."""
    tokenizer = estimate.tokenizer
    classes = TokenClasses(tokenizer)
    scorer = MixingScorer(args.facts, args.device, args.dtype, args.threads, tokenizer.pad_id)
    scorer.measure(tokenizer.encode(packed.texts[:8]))
    batches = estimate.batches(packed)
    started = time.perf_counter()
    result = measure_shard(scorer, classes, masked(iter(batches), tokenizer, args), args.per_token)
    batches.seconds = time.perf_counter() - started
    if not result.kept:
        return batches, 0.0
    tables = list(token_rows(result, args.facts.layers, classes.strings))
    return batches, sum(map(stored_bytes, tables)) / sum(table.num_rows for table in tables)
