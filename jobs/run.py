"""Run the main job: ingest, topk, annotate, mine, tokens and explain; skip what is already done.

    python -m jobs.run --out runs/docs --preset small --model sample --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.run --out s3://bucket/run --preset paper --gpus 8 --corpus 's3://bucket/*.parquet'

Writes every table of the main job. Repeat the command to resume an interrupted run.

What to expect: 5,000 packaged docstrings with the packaged model take three minutes on two cores (November 2026):
ingest 20 s, topk 30 s, annotate 6 s, mine 30 s, tokens 25 s, explain 50 s, plus the start of each step.
"""

import sys
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from jobs.annotate import job as annotate
from jobs.explain import job as explain
from jobs.ingest import job as ingest
from jobs.mine import job as mine
from jobs.show import job as show
from jobs.stage.command_line import Job, in_run
from jobs.stage.options import part_of
from jobs.tokens import job as tokens
from jobs.topk import job as topk

if TYPE_CHECKING:
    from jobs.stage.run import Run


class RunConfig(topk.TopkConfig, annotate.AnnotateConfig, mine.MineConfig, tokens.TokenOptions, explain.ExplainConfig):
    """Options of all stages of the main job."""

    heading: ClassVar[tuple[int, str]] = (70, "Steps to skip")

    no_tokens: bool = Field(False, description="Skip the tokens stage, a second pass over the first winners")
    no_explain: bool = Field(False, description="Skip the explanations")


def do(config: RunConfig, record: "Run") -> None:
    """Do the missing work of every stage."""
    from jobs.stage.units import check_units
    from ops.sentences.pipeline import load_pipeline

    known = topk.prepare(config, record)
    check_units(config.units, known.neurons, "mined")
    load_pipeline(config.pipeline)
    again = {"redo": config.redo}
    if config.corpus:
        ingest.do(part_of(config, ingest.IngestConfig, **again), record)
        again = {"redo": False}
    topk.do_stage(part_of(config, topk.TopkConfig, **again), record, known)
    annotate.do(part_of(config, annotate.AnnotateConfig, redo=False), record)
    mine.do(part_of(config, mine.MineConfig, redo=False), record)
    if not config.no_tokens:
        tokens.do_winners(part_of(config, tokens.TokensConfig, redo=False), record)
    if not config.no_explain:
        explain.do(part_of(config, explain.ExplainConfig, redo=False), record)
        if not config.no_tokens:
            tokens.do_negatives(part_of(config, tokens.TokensConfig, redo=False), record)


def run(config: RunConfig) -> None:
    """Do the missing work of every stage, and print how to inspect the result."""
    mine.check(config)
    in_run(do)(config)
    if not config.dry_run:
        print(f"{config.out}: done\n{show.what_next(config.out)}")


JOB = Job("run", RunConfig, run, __doc__)

if __name__ == "__main__":
    sys.exit(JOB.main())
