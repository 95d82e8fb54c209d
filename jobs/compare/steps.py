"""The job `compare`: its input is checked, its parts are chosen, and the parts are done one after another."""

from collections.abc import Callable
from typing import Any

from jobs.compare.ablation import ablation
from jobs.compare.dimensions import dimensions, figure_units
from jobs.compare.diversity import diversity
from jobs.compare.groups import groups
from jobs.compare.job import CompareConfig
from jobs.compare.matches import check_matches, matches
from jobs.compare.neighbours import neighbours
from jobs.compare.runs import check_runs, runs
from jobs.compare.shift import check_shift, shift
from jobs.run_folder.again import command
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.stage.checks import check_heard
from jobs.stage.placement import check_device
from jobs.stage.scored import Scored
from jobs.stage.units import chosen_units
from ops.errors import InputError
from ops.model.names import RANDOM

# The parts in the order in which they are done; each is called with the options, the run and, if it is in CHECKS, the
# other run or model as its check returned it.
PARTS: dict[str, Callable[..., None]] = {
    "dimensions": dimensions, "neighbours": neighbours, "groups": groups, "diversity": diversity, "matches": matches,
    "runs": runs, "shift": shift, "ablation": ablation,
}  # fmt: skip
CHECKS: dict[str, Callable[[CompareConfig, Run], Any]] = {
    "matches": check_matches, "runs": check_runs, "shift": check_shift,
}  # fmt: skip
# The option that a part requires; it is done by default if this option is given.
REQUIRED = {
    "shift": ("against", "another model; give it with --against MODEL_OR_RUN"),
    "ablation": ("ablate", "a number of neurons; give it with --ablate N"),
    "matches": ("with_", "another run; give it with --with RUN"),
    "runs": ("against_run", "a control; give its run with --against-run RUN"),
}
OF_FEATURES = ("neighbours", "matches", "runs")  # parts that also work with features of sparse dictionaries


def compare(config: CompareConfig, run: Run) -> None:
    """Do the requested parts, or the missing work of them."""
    parts = chosen_parts(config, Scored.of(run).of_features)
    check(config, run, parts)
    others = {part: [check_other(config, run)] for part, check_other in CHECKS.items() if part in parts}
    for part, do in PARTS.items():
        if part in parts:
            do(config, run, *others.get(part, []))


def chosen_parts(config: CompareConfig, of_features: bool) -> tuple[str, ...]:
    """Return the parts to do; some are undefined if the run's units are features of sparse dictionaries.

    Raises:
        InputError: text sets are given without another model, an option that a named part requires is missing, a part
            is not available for features, or a seed is given without a model of random weights.
    """
    if config.model_seed is not None and not config.against.startswith(RANDOM):
        raise InputError(
            f"--model-seed {config.model_seed}: is the seed of random weights; give --against random:NAME with it, "
            "or leave it out"
        )
    if of_features:
        named = [*config.part, *(["shift"] if config.against else []), *(["ablation"] if config.ablate else [])]
        others = [part for part in named if part not in OF_FEATURES]
        if others:
            raise InputError(
                f"--part {others[0]}: compares neurons, but the units of this run are features of dictionaries; "
                "choose --part neighbours, --with or --against-run"
            )
    if config.text_set and not config.against:
        raise InputError("--text-set: is read by two models; give the other one with --against MODEL_OR_RUN")
    if config.units and config.part and "neighbours" not in config.part:
        raise InputError(f"--units {config.units[0]}: limits the part neighbours alone; leave it out")
    for part, (option, what) in REQUIRED.items():
        if part in config.part and not getattr(config, option):
            raise InputError(f"--part {part}: requires {what}")
    if config.part:
        return config.part
    always = ("neighbours",) if of_features else ("dimensions", "neighbours", "groups", "diversity")
    return (*always, *(part for part, (option, _) in REQUIRED.items() if getattr(config, option)))


def check(config: CompareConfig, run: Run, parts: tuple[str, ...]) -> None:
    """Refuse invalid input before anything heavy starts.

    Raises:
        InputError: a stage that a part reads is missing, an option or the run's site is unsuitable, all units are
            silent, or the activation sample has fewer than three sentences.
    """
    for part in parts:
        for stage in STAGES[f"compare/{part}"].reads:
            run.require(stage)
        if part != "runs" and "mine" in STAGES[f"compare/{part}"].reads:
            check_mined(config, run, part)
    if "neighbours" in parts:
        chosen_units(config, run, "compared")
    figure_units(config.figure_units)
    check_device(config)
    scored = Scored.of(run)
    if scored.sampled < 3 and {"dimensions", "neighbours", "groups", "ablation"} & set(parts):
        raise InputError(
            f"--out {config.out}: its activation sample holds {scored.sampled} sentences, and neurons are compared on "
            "it; to draw a larger one, run",
            command(config.out, "topk", scored.options, redo=True, activation_sample=1_000),
        )
    check_heard(run)
    if "ablation" in parts and scored.site != "hidden":
        raise InputError(
            f"--ablate: the run has --site {scored.site}; only neurons of --site hidden can be set to their mean"
        )


def check_mined(config: CompareConfig, run: Run, part: str) -> None:
    """Refuse a part that compares the mining results of all neurons, if only some neurons were mined."""
    mined = run.require("mine")["config"]
    if mined.get("units"):
        raise InputError(
            f"--part {part}: compares all neurons, but atlas mine was run with --units; choose other parts, such as "
            "--part neighbours, or run",
            command(config.out, "mine", mined, redo=True, units=()),
        )
