"""All steps of `mine`, in their order."""

from collections.abc import Iterator

from jobs.engine.item import Item
from jobs.stage.step import Step
from jobs.steps import mine_held_out as held_out
from jobs.steps import mine_patterns as patterns
from jobs.steps.mine_tables import tables_step
from jobs.steps.mine_workers import MineArgs


def mine_steps(args: MineArgs, ranges: list[Item], runs: list[Item], scores: bool) -> Iterator[Step]:
    """Return the steps, each to be done before the next.

    Args:
        args: what the workers are made from.
        ranges: as `neuron_ranges` returns them.
        runs: as `sentence_runs` returns them.
        scores: whether the held-out scores are wanted.
    """
    yield patterns.mine_step(args, ranges, "patterns", patterns.RangeMiner)
    yield patterns.unite_step(args, ranges)
    yield patterns.count_step(args, runs, "baseline", patterns.BaselineCounter)
    yield patterns.add_up_step(args, runs)
    yield tables_step(args, ranges)
    if scores:
        half = held_out.TRAINING
        yield patterns.mine_step(args, ranges, "training halves", held_out.TrainingMiner, half)
        yield patterns.unite_step(args, ranges, half)
        yield patterns.count_step(args, runs, "their baseline", held_out.TrainingCounter, half)
        yield patterns.add_up_step(args, runs, half)
        yield held_out.scores_step(args, ranges)
