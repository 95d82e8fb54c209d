"""From the seconds of one worker to those of a step that is spread over many."""

import math

from jobs.engine.connect import stays_here
from jobs.stage.dry_run import DryRun
from ops.errors import counted

TIMED_S = 2.0  # of a sample
# Measured on two cores (docs/scale.md): from a job's begin to its first item, and further actors' and tasks' start.
FIRST_START_S, ACTORS_START_S, TASKS_START_S = 10.6, 3.5, 0.2


def spread_seconds(record: DryRun, items: int, workers: int | None, worker_s: float, actors: bool = False) -> float:
    """Return the seconds of a step whose missing items would take one worker `worker_s`, start included.

    Args:
        record: the run; it notes that Ray would be up after this.
        items: those that are missing, of equal length.
        workers: most workers; None, for as many as a cluster brings up, counts as one.
        worker_s: seconds of work in all items.
        actors: whether the step's workers are.
    """
    if not items:
        return 0.0
    if stays_here(items, workers):
        return worker_s
    start = FIRST_START_S if record.first_spread() else ACTORS_START_S if actors else TASKS_START_S
    rounds = math.ceil(items / min(workers or 1, items))
    return start + worker_s * rounds / items


def by_workers(workers: int | None) -> str:
    """Return the words for a number of workers."""
    if workers is None:
        return "the time of one worker; as many as the cluster brings up share it"
    return f"{workers} worker{'s' if workers > 1 else ''}, start-up included (docs/scale.md)"


def of_all(missing: int, everything: int, what: str) -> str:
    """Return how many of all things are missing: `2 of 3 shards`."""
    return f"{missing:,} of {counted(everything, what)}"
