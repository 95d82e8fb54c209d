"""`--dry-run` of a stage: what its steps lack, how long that takes and how large its tables are."""

from collections.abc import Callable, Mapping, Sequence

from jobs.engine.connect import stays_here
from jobs.engine.item import Item
from jobs.run_folder.stages import STAGES
from jobs.stage.costs import ACTORS_START_S, FIRST_START_S, SECONDS, TASKS_START_S, seconds_together
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.step import Step, Steps
from ops.schema import row_bytes


def plan_of(
    run: DryRun,
    stage: str,
    workers: int | None,
    missing: Callable[[Step], list[Item]],
    steps: Steps,
    rows: Mapping[str, int],
    notes: Sequence[str],
) -> Plan:
    """Return what a stage would do.

    Args:
        run, stage: the run, and the name of the stage.
        workers: the maximum number of workers of a step.
        missing: returns the items of a step that are not done.
        steps, rows, notes: the arguments of `Stage.complete`.
    """
    lines: list[str] = []
    seconds, unknown = 0.0, []
    for group in steps:
        todo = [missing(step) for step in group]
        for step, items in zip(group, todo, strict=True):
            if step.unit:
                lines.append(_line(stage, step, items))
            took = _seconds(run, step, len(items), step.workers or workers)
            seconds += took or 0.0
            if took is None:
                unknown.append(step.name.rpartition(": ")[2])
        if any(todo):
            break  # what follows depends on what these steps make
    steps.close()
    size = round(sum(number * row_bytes(table) for table, number in rows.items()))
    tables = [table for table in STAGES[stage].tables if rows.get(table, 1)]
    return Plan(stage=stage, work=[*lines, *notes], seconds=seconds, unknown=unknown, tables=tables, size=size)


def _line(stage: str, step: Step, missing: list[Item]) -> str:
    name = step.name.rpartition(": ")[2]
    label = "" if name == stage else f"{name}: "
    line = f"{label}{len(missing):,} of {len(step.items):,} {step.unit}"
    if step.work is None or step.work[1] is None:
        return line
    what, whole = step.work
    left = sum(item["sentences"] for item in missing)
    return f"{line}, {left:,} of {whole:,} {what}"


def _seconds(run: DryRun, step: Step, missing: int, workers: int | None) -> float | None:
    """Return the seconds of a step's missing items, its start included; None if nothing is known about them."""
    if not missing or not (step.unit or step.estimate):
        return 0.0
    cost = SECONDS.get(step.name)
    every = step.estimate(run) if step.estimate is not None else cost and step.amount * cost
    if every is None:
        return None
    worker_s = every * missing / len(step.items)
    if step.here or stays_here(missing, workers):
        return worker_s
    start = FIRST_START_S if run.first_spread() else ACTORS_START_S if step.actors else TASKS_START_S
    return seconds_together(missing, workers, worker_s, start)
