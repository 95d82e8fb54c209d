"""Run the whole main job: ingest, topk, annotate, mine and tokens in turn, skipping what is done.

    python -m jobs.run --out runs/docs --preset small --model sample --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.run --out s3://bucket/run --preset paper --corpus 's3://bucket/*.parquet'

Writes every table of the main job. The same command again goes on where the last one stopped.

What to expect: 5,000 packaged docstrings with the packaged model take two minutes on two cores (November 2026): ingest
20 s, topk 30 s, annotate 6 s, mine 30 s, tokens 25 s, and what each step takes to start.
"""

import sys
from typing import ClassVar

from pydantic import Field

from jobs import topk
from jobs.annotate import job as annotate
from jobs.annotate.job import AnnotateConfig
from jobs.ingest import job as ingest
from jobs.ingest.job import IngestConfig
from jobs.mine import job as mine
from jobs.mine.job import MineConfig
from jobs.stage.command_line import main
from jobs.stage.options import part_of
from jobs.tokens import job as tokens
from jobs.tokens.job import TokenOptions, TokensConfig
from jobs.topk import TopkConfig


class RunConfig(TopkConfig, AnnotateConfig, MineConfig, TokenOptions):
    """Options of all stages."""

    heading: ClassVar[tuple[int, str]] = TokenOptions.heading

    no_tokens: bool = Field(False, description="leave out which token fires, a second pass over the first winners")


def run(config: RunConfig) -> None:
    """Do what is missing of every stage."""
    from jobs.stage.dry_run import open_run
    from ops.sentences.pipeline import load_pipeline

    mine.check(config)
    with open_run(config) as record:
        facts, tokenizer = topk.prepare(config, record)
        load_pipeline(config.pipeline)
        again = {"redo": config.redo}
        if config.corpus:
            ingest.do(part_of(config, IngestConfig, **again), record)
            again = {"redo": False}
        topk.do(part_of(config, TopkConfig, **again), record, facts, tokenizer)
        annotate.do(part_of(config, AnnotateConfig, redo=False), record)
        mine.do(part_of(config, MineConfig, redo=False), record)
        if not config.no_tokens:
            tokens.do(part_of(config, TokensConfig, redo=False), record)
    if not config.dry_run:
        print(f"{config.out}: done; look at a neuron with python -m jobs.show --out {config.out} --neuron 1:0")


if __name__ == "__main__":
    sys.exit(main(RunConfig, "run", str(__doc__).splitlines()[0], run))
