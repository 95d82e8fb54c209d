"""What the sentences of `meaning` would do."""

import numpy as np

from jobs.plans.meaning_reading import time_sentences
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, spread_seconds
from jobs.steps.meaning.sentence_blocks import BLOCK
from jobs.steps.meaning.sentences import SENTENCES, SentenceArgs, draw_step
from ops.errors import counted
from ops.meaning.next_sentences import find_pairs
from ops.model.tokenizer import Tokenizer

PAIR_BYTES, TEXT_BYTES, FIGURES_BYTES = 200, 120, 200_000


def plan_sentences(record: DryRun, job: CorpusPass, args: SentenceArgs, tokenizer: Tokenizer) -> None:
    """Say what the part would do.

    Args:
        record, job: the run and the pass.
        args: what the workers would be made from.
        tokenizer: the model's.
    """
    estimate = PassEstimate(record, job, draw_step(job, args), tokenizer)
    some = estimate.sample
    _, documents = np.unique(np.array([f"{d}\x1f{n}" for d, n in some.documents], object), return_inverse=True)
    # Runs of neighbouring sentences stand for documents' own places, which a sample of the sources does not know.
    found = find_pairs(some.sent_ids, documents.astype(np.int64), np.arange(len(documents)), args.seed)
    pairs = min(round(len(found.first) * args.sentences / max(len(documents), 1)), args.pairs)
    masked = min(args.masked, args.sentences)
    read = 4 * pairs + masked
    seconds, basis = None, [f"nothing timed: no device {args.device} is to be seen here"]
    if estimate.can_time:
        taken, timed = time_sentences(args, tokenizer, some.texts)
        blocks = -(-pairs // BLOCK) + -(-masked // BLOCK)
        seconds = spread_seconds(record, blocks, job.placement.workers, taken / timed * read)
        basis = [f"timed {counted(timed, 'sentence')} in {taken:.1f} s on {args.device}"]
    work = [
        estimate.work("look through"),
        f"read about {counted(read, 'sentence')}: {pairs:,} pairs, {masked:,} masked",
    ]
    if args.language:
        work.append(f"read translations, told by {args.language}")
    partials = pairs * (PAIR_BYTES + 12 * args.facts.layers + 7 * TEXT_BYTES)
    record.plan(SENTENCES, Plan(work, seconds, FIGURES_BYTES, partials, basis), {"scored": read})
