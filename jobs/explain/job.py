"""Explain every neuron in one sentence, without a language model, and score it on unseen documents.

    python -m jobs.explain --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.explain --out s3://bucket/run

Writes explanations/, explanation_terms/, families/, examples/ and explain/controls/, with a figure. Reads only finished
tables (topk/, sentences/, activations/, patterns/ and profiles/) and the token table of the model.
"""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from jobs.stage.command_line import Job, in_run
from jobs.stage.options import StageConfig, UnitsConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run


class ExplainConfig(UnitsConfig):
    """Options of `explain`."""

    heading: ClassVar[tuple[int, str]] = (60, "Explanations (explain)")

    literals: int = Field(
        8,
        ge=1,
        le=32,
        description="Use at most this many literals in a neuron's range model, nuisance literals not counted",
    )
    card_literals: int = Field(
        6,
        ge=1,
        le=16,
        description="Use at most this many literals in a pole's score card, nuisance literals not counted",
    )
    no_controls: bool = Field(
        False, description="Skip the controls of each layer: a rotated basis and shuffled activations"
    )


EXPLAIN_OPTIONS = tuple(ExplainConfig.model_fields.keys() - StageConfig.model_fields.keys())


def do(config: ExplainConfig, record: "Run") -> None:
    """Run the stage, or the missing part of it."""
    from jobs.explain.plan import plan
    from jobs.explain.steps import explain, find_tokens
    from jobs.stage.copies import drop_copies
    from jobs.stage.runner import StageSpec, run_stage
    from jobs.stage.units import chosen_units

    record.require("topk")
    record.require_current("annotate")
    record.require("mine")
    config = config.model_copy(update={"units": chosen_units(config, record, "explained")})
    facts = find_tokens(record)
    resolved = config.model_dump(mode="json")
    depends_on = {name: resolved[name] for name in (*EXPLAIN_OPTIONS, "seed")}
    spec = StageSpec(
        "explain",
        depends_on,
        partial(explain, config, facts),
        partial(plan, config, facts),
        ("explanations", "explanations"),
    )
    stage = run_stage(spec, config, record)
    if stage is not None and not (config.dry_run or config.keep_partials):
        drop_copies(stage)


JOB = Job("explain", ExplainConfig, in_run(do), __doc__)
