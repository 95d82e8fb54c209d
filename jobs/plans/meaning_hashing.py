"""What the hashing of `meaning` would do."""

from jobs.plans.meaning_reading import time_sentences
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, spread_seconds
from jobs.steps.meaning.codes import codes_step
from jobs.steps.meaning.hashing import HASHING, HashArgs, state_step
from ops.errors import counted
from ops.model.tokenizer import Tokenizer
from ops.sampling import HASHED, draw

ROW_BYTES, FIGURES_BYTES = 12, 400_000
TRAINED_S = 4e-5  # seconds of one core for a sentence of 384 units in an epoch of one autoencoder (measured)


def plan_hashing(record: DryRun, job: CorpusPass, args: HashArgs, tokenizer: Tokenizer, sentences: int) -> None:
    """Say what the part would do.

    Args:
        record, job: the run and the pass.
        args: what the workers would be made from.
        tokenizer: the model's.
        sentences: most that are drawn.
    """
    read = min(sentences, job.shards.sentences)
    ids = draw(job.shards.sentences, read, args.seed, HASHED)
    estimate = PassEstimate(record, job, state_step(job, args, ids), tokenizer)
    codes = codes_step(args)
    seconds, basis = None, [f"nothing timed: no device {args.device} is to be seen here"]
    if estimate.can_time:
        taken, timed = time_sentences(args, tokenizer, estimate.sample.texts, [args.layer])
        share = estimate.sentences / max(job.shards.sentences, 1)
        seconds = estimate.seconds(taken / timed * read * share)
        trained = 2 * TRAINED_S * args.epochs * read * args.facts.width / 384
        seconds += spread_seconds(record, len(codes.items), job.stage.workers, trained * len(codes.items) / 2)
        basis = [f"timed {counted(timed, 'sentence')} in {taken:.1f} s on {args.device}"]
    work = [
        f"read {counted(read, 'sentence')}, a uniform sample",
        f"make and measure {counted(len(codes.items), 'code')}",
    ]
    plan = Plan(work, seconds, FIGURES_BYTES + read * ROW_BYTES, read * 4 * args.facts.width, basis)
    record.plan(HASHING, plan, {"scored": read})
