"""Code that the parts of `compare` share: a run's neurons and model, running and planning a part, redrawing."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from jobs.stage.estimate import by_workers, of_all, spread_seconds

from jobs.compare.job import CompareConfig
from jobs.stage.again import command
from jobs.stage.checks import recorded_model
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.placement import Placement
from jobs.stage.run import Run, RunReader
from jobs.stage.runner import Stage, StageSpec, Step, run_stage
from ops.errors import InputError
from ops.model.activations import ScoreOptions
from ops.model.load import ModelFacts
from ops.model.names import model_title, seed_of
from ops.storage.store import Store
from ops.topk.neurons import Neurons, read_neurons

Args = TypeVar("Args")


@dataclass(frozen=True)
class PartArgs:
    """The arguments of the workers of a part; the args of each part add its options."""

    store: Store
    fingerprint: str
    neurons: Neurons
    seed: int


@dataclass(frozen=True)
class ModelArgs(PartArgs):
    """The arguments of workers that run a model on sentences: the model, and where it runs."""

    facts: ModelFacts
    scoring: ScoreOptions
    place: Placement


def part_args(config: CompareConfig, stage: Stage) -> PartArgs:
    """Return the arguments that the workers of all parts share."""
    return PartArgs(stage.store, stage.fingerprint, neurons_of(stage.record), config.seed)


def run_part(
    part: str,
    config: CompareConfig,
    record: Run,
    depends_on: dict[str, Any],
    args: Callable[[CompareConfig, Stage], Args],
    do: Callable[[CompareConfig, Stage, Args], dict[str, Any]],
    plan: Callable[[CompareConfig, Stage, Args, DryRun], Plan],
    about: dict[str, Any] | None = None,
) -> Stage | None:
    """Run a part as `run_stage` does, and return its stage; None if it was already done.

    Args:
        part: the name of the part, without `compare/`.
        config, record: the options and the run.
        depends_on: what its results depend on in addition to the seed.
        args: returns the arguments of its workers, once the part is begun.
        do, plan, about: see `StageSpec`.
    """
    spec = StageSpec(
        f"compare/{part}",
        {**depends_on, "seed": config.seed},
        lambda stage: do(config, stage, args(config, stage)),
        lambda stage, dry_run: plan(config, stage, args(config, stage), dry_run),
        ("rows", "rows"),
        about=about or {},
    )
    return run_stage(spec, config, record)


def part_plan(
    stage: Stage,
    record: DryRun,
    steps: Sequence[tuple[Step, float]],
    kept: int,
    more: Sequence[str] = (),
    more_seconds: float | None = 0.0,
) -> Plan:
    """Return what a part would do.

    Args:
        stage, record: the stage of the part, which was begun, and the run.
        steps: its steps, as far as they are known before the first is done, each with the approximate seconds that a
            worker takes for one item.
        kept: the approximate bytes of the tables and figures.
        more: descriptions of further work.
        more_seconds: the approximate seconds that a worker takes for the further work; None if they cannot be known.
    """
    lines, seconds = [], more_seconds
    for step, each in steps:
        missing = len(stage.missing(step))
        if step.unit:
            name = step.name.removeprefix("compare: ")
            lines.append(f"{name}: {of_all(missing, len(step.items), step.unit.removesuffix('s'))}")
        if seconds is not None:
            worker_s, spread = each * missing, not step.here
            seconds += spread_seconds(record, missing, stage.workers, worker_s, step.actors) if spread else worker_s
    basis = ["nothing timed: measured with the packaged model, by sizes", by_workers(stage.workers)]
    return Plan([*lines, *more], seconds, kept, 0, basis, counts={"rows": 0})


def redraw(part: str, option: str, config: CompareConfig, record: Run, draw: Callable[[], list[str]]) -> None:
    """Draw the figures of a finished part again if an option that only they depend on has changed."""
    entry, wanted = record.require(f"compare/{part}"), getattr(config, option)
    if config.dry_run or entry["config"][option] == wanted:
        return
    names = draw()
    entry["config"][option] = wanted
    record.add_files(f"compare/{part}", f"compare/figures/{part}", names)
    print(f"compare/{part}: redrawn with {option} {wanted}", file=sys.stderr)


def neurons_of(record: Run) -> Neurons:
    """Return the neurons of a run, from `activations/`."""
    return read_neurons(record.store)


def title_of(record: RunReader) -> str:
    """Return the title of the run's model for figures."""
    topk = record.require("topk")
    named = topk["config"]["model"]
    return model_title(named, topk["identity"]["model"], seed_of(named, topk["config"].get("model_seed")))


def model_of(record: Run) -> ModelFacts:
    """Return the facts of the model of a run.

    Raises:
        InputError: the model is missing or has changed.
    """
    topk = record.require("topk")
    facts = recorded_model(topk)
    if facts.fingerprint != topk["identity"]["model"]:
        raise InputError(
            f"--out {record.store.uri}: was made with a model that has changed since ({facts.name}); "
            "restore it, or run",
            command(record.store.uri, "topk", topk["config"], redo=True),
        )
    return facts
