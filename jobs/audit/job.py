"""Test whether the explanation of a neuron from one data set also holds in the other data sets.

    python -m jobs.audit --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.audit --out s3://bucket/run

Learns a score card for each neuron and pole in every data set of the corpus, and tests how well it predicts the winners
in all other data sets. Reads topk_by_dataset/ and the tables of jobs.explain; no model is run. Writes
audit/portability/ (a row per neuron and pair of data sets), audit/patterns/ (a literal across data sets),
audit/neurons/ (a neuron's illusion and verdict), the controls of each table, and figures. After Bolukbasi and others
2021.
"""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from jobs.stage.command_line import Job, in_run
from jobs.stage.options import StageConfig, UnitsConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run


class AuditConfig(UnitsConfig):
    """Options of `audit`."""

    heading: ClassVar[tuple[int, str]] = (60, "Comparison of data sets (audit)")

    winners: int = Field(200, ge=20, description="Use at most this many winners per data set, the first by rank")
    no_controls: bool = Field(
        False, description="Skip the controls: data sets permuted over documents, and two halves of each data set"
    )


AUDIT_OPTIONS = tuple(AuditConfig.model_fields.keys() - StageConfig.model_fields.keys())


def do(config: AuditConfig, record: "Run") -> None:
    """Run the stage, or the missing part of it."""
    from jobs.audit.plan import plan
    from jobs.audit.steps import audit, audited_datasets
    from jobs.stage.copies import drop_copies
    from jobs.stage.runner import StageSpec, run_stage
    from jobs.stage.units import chosen_units

    record.require("topk")
    record.require_current("annotate")
    record.require("mine")
    record.require_current("explain")
    config = config.model_copy(update={"units": chosen_units(config, record, "audited")})
    datasets = audited_datasets(config.out, record)
    resolved = config.model_dump(mode="json")
    spec = StageSpec(
        "audit",
        {name: resolved[name] for name in (*AUDIT_OPTIONS, "seed")},
        partial(audit, config, datasets),
        partial(plan, config, datasets),
        ("neurons", "neurons and poles"),
    )
    stage = run_stage(spec, config, record)
    if stage is not None and not (config.dry_run or config.keep_partials):
        drop_copies(stage)


JOB = Job("audit", AuditConfig, in_run(do), __doc__)
