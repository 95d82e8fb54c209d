"""All steps of `mine`, in their order."""

from jobs.engine.item import Item
from jobs.stage.runner import Step
from jobs.steps.mine import patterns as patterns
from jobs.steps.mine.tables import tables_step
from jobs.steps.mine.workers import MineArgs


def mine_steps(args: MineArgs, ranges: list[Item], runs: list[Item]) -> list[Step]:
    """Return the steps, each to be done before the next.

    Args:
        args: what the workers are made from.
        ranges: as `neuron_ranges` returns them.
        runs: as `sentence_runs` returns them.
    """
    return [
        patterns.mine_step(args, ranges),
        patterns.unite_step(args, ranges),
        patterns.count_step(args, runs),
        patterns.add_up_step(args, runs),
        tables_step(args, ranges),
    ]
