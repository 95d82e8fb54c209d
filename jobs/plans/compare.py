"""What a part of `compare` would do."""

from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, of_all, spread_seconds
from jobs.steps.compare.compared_run import PartWork


def plan_part(record: DryRun, work: PartWork) -> None:
    """Say what a part would do.

    Args:
        record: the run.
        work: the part, begun.
    """
    stage, lines = work.stage, []
    seconds = work.more_seconds
    for step, each in work.steps:
        missing = len(stage.missing(step))
        if step.unit:
            name = step.name.removeprefix("compare: ")
            lines.append(f"{name}: {of_all(missing, len(step.items), step.unit.removesuffix('s'))}")
        if seconds is not None:
            worker_s, spread = each * missing, not step.here
            seconds += spread_seconds(record, missing, stage.workers, worker_s, step.actors) if spread else worker_s
    basis = ["nothing timed: measured with the packaged model, by sizes", by_workers(stage.workers)]
    plan = Plan([*lines, *work.more], seconds, work.kept, 0, basis)
    record.plan(stage.name, plan, {"rows": 0})
