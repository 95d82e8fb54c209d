"""`--dry-run` of a stage: what its steps lack, how long that takes and how large its tables are."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jobs.engine.connect import stays_here
from jobs.engine.item import Item
from jobs.run_folder.stages import STAGES
from jobs.stage.costs import ACTORS_START_S, FIRST_START_S, SECONDS, TASKS_START_S
from jobs.stage.dry_run import DryRun, size
from jobs.stage.step import Step, Steps
from ops.clock import duration
from ops.errors import visible
from ops.schema import row_bytes


def print_plan(
    run: DryRun,
    stage: str,
    workers: int | None,
    missing: Callable[[Step], list[Item]],
    steps: Steps,
    rows: Mapping[str, int],
    counts: Mapping[str, Any],
    notes: Sequence[str],
) -> None:
    """Print what a stage would do, and treat it as complete.

    Args:
        missing: returns the items of a step that are not done.
        steps, rows, counts, notes: the arguments of `Stage.complete`.
    """
    work: list[str] = []
    seconds, unknown = 0.0, []
    for group in steps:
        todo = [missing(step) for step in group]
        for step, items in zip(group, todo, strict=True):
            if step.unit:
                work.append(_work(stage, step, items))
            took = _seconds(run, step, len(items), step.workers or workers)
            seconds += took or 0.0
            if took is None:
                unknown.append(step.name.rpartition(": ")[2])
        if any(todo):
            break  # what follows depends on what these steps make
    steps.close()
    written = round(sum(number * row_bytes(table) for table, number in rows.items()))
    tables = [t for t in STAGES[stage].tables if rows.get(t, 1) and not t.startswith("_")]
    plus = f", plus {', '.join(unknown)}" if unknown else ""
    lines = [stage]
    if run.dropped:
        lines.append(f"  drop    existing tables of {', '.join(run.dropped)}")
        run.dropped = []
    lines += [f"  {'do' if i == 0 else '':<8}{line}" for i, line in enumerate([*work, *notes])]
    lines.append(f"  write   {' '.join(f'{t}/' for t in tables)}")
    lines.append(f"  time    {f'about {duration(seconds)}{plus}' if seconds or not unknown else 'not known'}")
    lines.append(f"  disk    about {size(written)}")
    if run.assumed:
        lines.append(f"  by      {run.assumed}")
    print("\n".join(map(visible, lines)), flush=True)
    run.plans[stage] = seconds, written, unknown
    run.under_way(stage).update(complete=True, expected=True, counts=dict(counts))


def _work(stage: str, step: Step, missing: list[Item]) -> str:
    name = step.name.rpartition(": ")[2]
    label = "" if name == stage else f"{name}: "
    line = f"{label}{len(missing):,} of {len(step.items):,} {step.unit}"
    if step.work is None or step.work[1] is None:
        return line
    what, whole = step.work
    return f"{line}, {sum(item['sentences'] for item in missing):,} of {whole:,} {what}"


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
    start = ACTORS_START_S if step.actors else TASKS_START_S
    if not run.spreads:
        run.spreads, start = True, FIRST_START_S
    rounds = math.ceil(missing / min(workers or 1, missing))
    return start + worker_s * rounds / missing  # as if all items took equally long
