"""What `tokens` would do."""

import numpy as np
import torch

from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import TIMED_S, by_workers, corpus_sample, of_all, spread_seconds
from jobs.stage.layout import wanted_file
from jobs.stage.placement import Placement
from jobs.stage.runner import Stage
from jobs.steps.tokens.read import TokensArgs, read_step
from ops.errors import counted
from ops.estimate.selection import expected_selected
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.model.activations import Scorer
from ops.model.tokenizer import Tokenizer
from ops.tokens.winners import first_winners

TOKEN_BYTES = 7  # of a winner in token_activations/ (measured on 2,304 neurons and news: 6.7)
PEAK_BYTES = 230  # of a neuron and pole in peaks/ (there: 226)


def plan_tokens(record: DryRun, stage: Stage, args: TokensArgs, place: Placement) -> None:
    """Say what the stage would do.

    Args:
        record, stage: the run, and the stage begun.
        args: what the workers would be made from, the neurons aside.
        place: where they would run.
    """
    topk = record.require("topk")["counts"]
    sets = topk["neurons"] * (2 if record.require("topk")["identity"]["poles"] == "both" else 1)
    k = min(record.require("topk")["identity"]["k"], args.top, args.shards.sentences)
    if record.is_expected("topk"):
        selected, about = expected_selected(args.shards.sentences, [(k, sets)]), "about "
    else:
        wanted = first_winners(args.store, args.of_these_neurons().neurons, args.top)
        selected, about = len(np.unique(wanted["sent_id"].to_numpy())), ""
    missing = items = len(args.shards)
    if wanted_file().is_whole(stage.store, args.fingerprint):
        step = read_step(args, place)
        missing, items = len(stage.missing(step)), len(step.items)
    sample = corpus_sample(record, len(args.shards))
    timed = time_reading(args, sample) if place.device == "cpu" or torch.cuda.is_available() else None
    worker_s = None if timed is None else timed.seconds_for(selected) * missing / max(items, 1)
    basis = "nothing timed: no GPU is to be seen here"
    if timed is not None:
        basis = f"timed {counted(timed.sentences, 'sentence')} in {timed.seconds:.1f} s"
    tokens_each = float(sample.n_tokens.mean())
    table = round(sets * k * tokens_each * TOKEN_BYTES + sets * PEAK_BYTES)
    plan = Plan(
        [
            f"read {about}{counted(selected, 'sentence')} token by token, {of_all(missing, items, 'shard')}",
            f"write {about}{counted(sets * k, 'winner')} of {sets:,} neurons and poles",
        ],
        None if worker_s is None else spread_seconds(record, missing, place.workers, worker_s, actors=True),
        table,
        2 * table,
        [basis, by_workers(place.workers)],
    )
    record.plan("tokens", plan, {"winners": sets * k, "sentences": selected})


def time_reading(args: TokensArgs, sample: Sentences) -> TimedBatches:
    """Put some batches through the model."""
    tokenizer = Tokenizer(args.facts)
    batches = TimedBatches(
        sample.sent_ids, sample.texts, sample.n_tokens, tokenizer, args.token_budget, TIMED_S, args.lengths
    )
    scorer = Scorer(args.facts, args.options, tokenizer.pad_id)
    for _, tokens in batches:
        scorer.score(tokens)
    return batches
