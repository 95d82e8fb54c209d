"""Annotate the winners and a uniform baseline sample with words, part-of-speech tags and parses.

    python -m jobs.annotate --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.annotate --out s3://bucket/run --preset paper

Writes sentences/. Needs topk/ (jobs.topk). Runs one process per core, with one thread each.

What to expect (two cores, November 2026): the included pipeline annotates 20,300 to 24,600 words per second of
processor time (`python -m bench english`, without tables and codes).
"""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from jobs.stage.command_line import Job, in_run
from jobs.stage.options import StageConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run


class AnnotateConfig(StageConfig):
    """Options of `annotate`."""

    heading: ClassVar[tuple[int, str]] = (40, "Tags and parses (annotate)")

    pipeline: str = Field(
        "english",
        description="Use this spaCy pipeline: english (included), blank (words only), a package or a directory",
    )
    scope: Literal["named", "all"] = Field(
        "named", description="Annotate only the sentences that other tables name, or all of the corpus"
    )
    baseline_size: int | None = Field(
        None, ge=0, description="Draw this many sentences as the uniform baseline sample (default: all)"
    )


def do(config: AnnotateConfig, record: "Run") -> None:
    """Run the stage, or the missing part of it."""
    from functools import partial

    from jobs.annotate.annotate import annotate, plan
    from jobs.stage.runner import StageSpec, run_stage
    from ops.sentences.pipeline import describe, load_pipeline

    record.require("ingest")
    record.require("topk")
    depends_on = {
        "pipeline": describe(load_pipeline(config.pipeline)),
        "scope": config.scope,
        "baseline_size": config.baseline_size,
        "seed": config.seed,
    }
    run_stage(StageSpec("annotate", depends_on, partial(annotate, config), partial(plan, config)), config, record)


JOB = Job("annotate", AnnotateConfig, in_run(do), __doc__)
