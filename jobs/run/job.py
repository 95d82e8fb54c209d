"""Run the main job: ingest, topk, annotate, mine, explain and tokens; skip what is already done.

    atlas run --out runs/docs --preset small --model sample --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.run --out s3://bucket/run --preset paper --gpus 8 --corpus 's3://bucket/*.parquet'

Writes every table of the main job. Repeat the command to resume an interrupted run.

What to expect: 5,000 packaged docstrings with the packaged model take three and a half minutes on two cores (AMD EPYC,
November 2026): ingest 14 s, topk 28 s, annotate 6 s, mine 45 s, explain 78 s, tokens 25 s, and the start.
"""

from jobs.annotate.job import AnnotateConfig
from jobs.explain.job import ExplainConfig
from jobs.mine.job import MineConfig
from jobs.options.configs import option
from jobs.stage.main import Job
from jobs.tokens.job import TokenOptions
from jobs.topk.job import TopkConfig


class RunConfig(TopkConfig, AnnotateConfig, MineConfig, TokenOptions, ExplainConfig):
    """Options of all stages of the main job."""

    heading = (70, "Steps to skip")

    no_tokens: bool = option(False, "Skip the tokens stage, a second pass of the model")
    no_explain: bool = option(False, "Skip the explanations")


JOB = Job("run", RunConfig, "jobs.run.steps:run_all", __doc__)
