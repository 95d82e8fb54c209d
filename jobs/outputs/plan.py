"""The plan of `outputs`."""

from jobs.outputs.steps import OutputsArgs, check_step, random_step, states_step, units_step
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, of_all, spread_seconds
from jobs.stage.runner import Stage
from jobs.stage.stages import STAGES
from ops.outputs.names import SHOWN, SIDES

# For estimates from sizes: operations per second of a core, tokens per sentence, seconds per logit in addition to its
# product, and bytes.
OPERATIONS, SENTENCE, LOGIT_S = 50e9, 27, 22e-9
TOKEN_BYTES, UNIT_BYTES, FIGURE_BYTES = 8, 80, 200_000


def plan(stage: Stage, args: OutputsArgs, vocabulary: int, record: DryRun) -> Plan:
    """Return what the stage would do.

    Args:
        stage, args, record: the stage, which was begun, the arguments of its workers, and the run.
        vocabulary: the number of rows of the unembedding.
    """
    width, layers = args.facts.width, args.facts.layers
    token_s = 2 * 12 * layers * width**2 / OPERATIONS
    unit_s = vocabulary * (2 * width / OPERATIONS + LOGIT_S)
    units = states_step(args), random_step(args), units_step(args)
    each = {
        "mean state": token_s * SENTENCE * args.sentences,
        "random directions": unit_s * args.random * len(args.layers),
        "units": unit_s * len(args.units),
    }
    steps = [*units]
    if args.check:
        steps.append(check_step(args))
        raised_s = (token_s + 2 * vocabulary * width / OPERATIONS) * SENTENCE * args.check_sentences
        each["check"] = raised_s * args.check
    seconds, work = 0.0, []
    for step in steps:
        name, every = step.name.removeprefix("outputs: "), len(step.items)
        left = len(stage.missing(step))
        seconds += spread_seconds(record, left, stage.workers, each[name] * left / max(every, 1), step.actors)
        work.append(f"{name}: {of_all(left, every, step.unit.removesuffix('s'))}")
    kept = len(args.units) * (len(SIDES) * SHOWN * TOKEN_BYTES + UNIT_BYTES) + FIGURE_BYTES
    basis = ["nothing timed: by the sizes of the model", by_workers(stage.workers)]
    tables = [table for table in STAGES["outputs"].tables if args.check or table != "outputs/checks"]
    return Plan(work, seconds, kept, 0, basis, tables, {"neurons": len(args.units)})
