"""What `tokens` would do."""

import numpy as np
import torch

from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import TIMED_S, by_workers, corpus_sample, of_all, spread_seconds
from jobs.stage.placement import Placement
from jobs.stage.runner import Stage
from jobs.tokens.job import TokensConfig
from jobs.tokens.steps import WANTED, TokensArgs, read_step, tokens_args
from ops.errors import counted
from ops.estimate.selection import expected_selected
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.model.activations import Scorer
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.tokens.winners import first_winners
from ops.topk.neurons import Neurons, layer_widths

TOKEN_BYTES = 7  # of a winner in token_activations/ (measured on 2,304 neurons and news: 6.7)
PEAK_BYTES = 230  # of a neuron and pole in peaks/ (there: 226)


def plan(config: TokensConfig, facts: ModelFacts, place: Placement, stage: Stage, record: DryRun) -> Plan:
    """Return what the stage would do."""
    topk, expected = record.require("topk"), record.is_expected("topk")
    args = tokens_args(config, facts, place, stage, Neurons(() if expected else layer_widths(stage.store)))
    sets = topk["counts"]["neurons"] * (2 if topk["identity"]["poles"] == "both" else 1)
    k = min(topk["identity"]["k"], args.top, args.shards.sentences)
    if expected:
        selected, about = expected_selected(args.shards.sentences, [(k, sets)]), "about "
    else:
        wanted = first_winners(args.store, args.neurons, args.top)
        selected, about = len(np.unique(wanted["sent_id"].to_numpy())), ""
    missing = items = len(args.shards)
    if WANTED.is_whole(stage.store, args.fingerprint):
        step = read_step(args, place)
        missing, items = len(stage.missing(step)), len(step.items)
    sample = corpus_sample(record, len(args.shards))
    seconds, basis = None, "nothing timed: no GPU is to be seen here"
    if place.device == "cpu" or torch.cuda.is_available():
        timed = time_reading(args, sample)
        worker_s = timed.seconds_for(selected) * missing / max(items, 1)
        seconds = spread_seconds(record, missing, place.workers, worker_s, actors=True)
        basis = f"timed {counted(timed.sentences, 'sentence')} in {timed.seconds:.1f} s"
    table = round(sets * k * float(sample.n_tokens.mean()) * TOKEN_BYTES + sets * PEAK_BYTES)
    work = [
        f"read {about}{counted(selected, 'sentence')} token by token, {of_all(missing, items, 'shard')}",
        f"write {about}{counted(sets * k, 'winner')} of {sets:,} neurons and poles",
    ]
    counts = {"winners": sets * k, "sentences": selected}
    return Plan(work, seconds, table, 2 * table, [basis, by_workers(place.workers)], counts=counts)


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
