"""What the confusion sets of `meaning` would do."""

import time

from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, spread_seconds
from jobs.steps.meaning.confusion import CONFUSION, ConfusionArgs, find_step
from jobs.steps.meaning.sets import sets_step
from ops.errors import counted
from ops.meaning.blank_states import BlankReader
from ops.meaning.confusion import find_occurrences
from ops.model.tokenizer import Tokenizer

TRAINED_S = 0.0007  # seconds of one core for an example of 384 units in a layer (measured on random numbers)
WORDS_BYTES, FIGURES_BYTES = 60, 300_000  # of an example's words


def plan_confusion(record: DryRun, job: CorpusPass, args: ConfusionArgs, tokenizer: Tokenizer) -> None:
    """Say what the part would do.

    Args:
        record, job: the run and the pass.
        args: what the workers would be made from.
        tokenizer: the model's.
    """
    estimate = PassEstimate(record, job, find_step(job, args), tokenizer)
    texts = estimate.sample.texts
    places = {word: (i, j) for i, words in enumerate(args.sets) for j, word in enumerate(words)}
    found = [(text, o) for text in texts for o in find_occurrences(text, places)]
    times = args.sentences / len(texts)
    each = [sum(o.set == i for _, o in found) * times for i in range(len(args.sets))]
    examples = round(sum(min(n, args.most) for n in each))
    stated = round(sum(min(n, args.stated) for n in each))
    seconds = None
    basis = [f"nothing timed: no device {args.device} is to be seen here"]
    if estimate.can_time:
        reader = BlankReader(args.facts, tokenizer, args.device, args.dtype, args.threads, args.token_budget)
        some = found[:: max(len(found) // 200, 1)]
        blanks = reader.blanks([text for text, _ in some], [(o.start, o.stop) for _, o in some])
        started = time.perf_counter()
        reader.read([blank for blank in blanks if blank is not None])
        taken = time.perf_counter() - started
        share = estimate.sentences / args.sentences
        seconds = estimate.seconds(taken / max(len(some), 1) * stated * share)
        sets = job.stage.missing(sets_step(args))
        seconds += spread_seconds(record, len(sets), job.stage.workers, TRAINED_S * stated * args.facts.layers)
        basis = [f"timed {counted(len(some), 'sentence')} with a blank in {taken:.1f} s on {args.device}"]
    plan = Plan(
        [
            estimate.work("look through"),
            f"blank about {counted(examples, 'word')} of {counted(len(args.sets), 'confusion set')}, "
            f"{stated:,} of them for the model",
        ],
        seconds,
        FIGURES_BYTES,
        examples * WORDS_BYTES + stated * 4 * args.facts.layers * args.facts.width,
        basis,
    )
    record.plan(CONFUSION, plan, {"scored": args.sentences})
