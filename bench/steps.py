"""Does steps of a job in this process, with the files committed as in a run, and times them."""

from collections.abc import Iterable

from bench.timing import timed
from jobs.stage.step import Made, Step
from ops.storage.store import Store

PRINT = "f" * 64  # the fingerprint of every stage


def by_name(steps: Iterable[Step]) -> dict[str, Step]:
    """Return steps by their names, without the name of the stage."""
    return {step.name.split(": ")[-1]: step for step in steps}


def commit(store: Store, made: Made) -> None:
    """Commit the files that a worker made."""
    for output, contents in made.items():
        output.commit(store, contents, PRINT)


def seconds(step: Step, store: Store, items: int | None = None, warm: bool = False) -> float:
    """Do items of a step, and return the processor time, without that of creating the worker.

    Args:
        step, store: the step, and the run's folder.
        items: the number of items, from the first; None for all.
        warm: whether the first item is done once before, which compiles what it uses.
    """
    make, args = step.committing(store, PRINT)
    do, chosen = make(**args), step.items[:items]
    if warm:
        do(chosen[0], None)
    return timed(lambda: [do(item, None) for item in chosen])[0].processor
