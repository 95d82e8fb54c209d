"""What `mine` would do; where there is something to mine already, by some neurons that go through all its steps."""

from typing import Any

from jobs.plans.neurons import MinedNeurons, time_neurons
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, spread_seconds
from jobs.stage.runner import Stage
from jobs.stage.stages import STAGES
from jobs.steps.mine.steps import mine_steps
from jobs.steps.mine.workers import NEURONS_PER_RANGE, MineArgs, sentence_runs
from ops.errors import counted
from ops.shards import spans
from ops.topk.neurons import Neurons, layer_widths

MOST_SENTENCES = 100_000  # that some neurons are timed on: all of them are counted
# Measured (docs/scale.md): seconds of each step for a winner of a neuron and pole, with 1,000 of them and held-out
# scores; and bytes of a neuron and pole in the tables, of 2,304 neurons and 100 winners.
WINNER_S = {"mine: patterns": 119e-6, "mine: tables": 71e-6}
SET_BYTES = 33_000


def plan_mine(record: DryRun, stage: Stage, seed: int, options: dict[str, Any], scores: bool) -> None:
    """Say what the stage would do.

    Args:
        record, stage: the run, and the stage begun.
        seed, options: as `mine_args` takes them.
        scores: whether the held-out scores are wanted.
    """
    topk, annotate = record.require("topk"), record.require("annotate")
    expected = record.is_expected("topk") or record.is_expected("annotate")
    widths = (topk["counts"]["neurons"],) if expected else layer_widths(record.store)
    poles, k = (topk["identity"][name] for name in ("poles", "k"))
    sets = sum(widths) * (2 if poles == "both" else 1)
    sentences = annotate["counts"]["sentences"]
    args = MineArgs(stage.store, annotate["fingerprint"], stage.fingerprint, Neurons(widths), seed, options)
    ranges = [{"range": i} for i, _ in enumerate(spans(sum(widths), NEURONS_PER_RANGE))]
    steps = mine_steps(args, ranges, sentence_runs(sentences))
    missing = {step.name: len(stage.missing(step)) for step in steps}

    mined = None
    if not expected and record.store.local and sentences <= MOST_SENTENCES:
        mined = time_neurons(record.store, args, sentences)
    seconds = 0.0
    for step in steps:
        left = missing[step.name]
        worker_s = _seconds(step.name, mined, sum(widths), sets, min(k, sentences)) * left / len(step.items)
        seconds += worker_s if step.here else spread_seconds(record, left, stage.workers, worker_s)
    kept = sets * SET_BYTES if mined is None else round(mined.bytes_per_neuron * sum(widths))
    work = [
        f"{s.name.removeprefix('mine: ')}: {missing[s.name]:,} of {len(s.items):,} {s.unit}" for s in steps if s.unit
    ]
    tables = [t for t in STAGES["mine"].tables if scores or t != "scores"]
    basis = _basis(mined, "not annotated yet" if expected else f"{sentences:,} sentences or not on this machine")
    plan = Plan(work, seconds, kept, kept, [*basis, by_workers(stage.workers)], tables)
    record.plan("mine", plan, {})


def _seconds(step: str, mined: MinedNeurons | None, neurons: int, sets: int, k: int) -> float:
    """Return what a step takes one worker."""
    if mined is not None:
        return mined.seconds_for(step, neurons)
    return sets * k * WINNER_S.get(step, 0.0)


def _basis(mined: MinedNeurons | None, why: str) -> list[str]:
    if mined is None:
        return [f"nothing timed ({why}): measured before, on other text (docs/scale.md, jobs/mine.py)"]
    took = sum(mined.seconds.values())
    return [f"timed {counted(mined.neurons, 'neuron')} through all steps in {took:.1f} s"]
