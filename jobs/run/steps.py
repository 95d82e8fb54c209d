"""The main job: its stages, one after another."""

from jobs.annotate.job import AnnotateConfig
from jobs.annotate.steps import annotate
from jobs.explain.job import ExplainConfig
from jobs.explain.steps import explain
from jobs.ingest.job import IngestConfig
from jobs.ingest.steps import ingest
from jobs.mine.job import MineConfig
from jobs.mine.steps import check_engine, mine
from jobs.options.configs import part_of
from jobs.run.job import RunConfig
from jobs.run_folder.run import Run
from jobs.show.printing import what_next
from jobs.stage.columns import check_source_column
from jobs.stage.units import check_units
from jobs.tokens.job import TokensConfig
from jobs.tokens.steps import tokens
from jobs.topk.job import TopkConfig
from jobs.topk.steps import find_winners, prepare
from ops.sentences.pipeline import load_pipeline


def run_all(config: RunConfig, run: Run) -> None:
    """Do the missing work of every stage, and print how to inspect the result."""
    check_engine(config)
    for key in config.nuisance:
        check_source_column(config, "--nuisance", key)
    prepared = prepare(config, run)
    check_units(config.units, prepared.neurons, "mined")
    load_pipeline(config.pipeline)
    if config.corpus:
        ingest(part_of(config, IngestConfig), run)
    find_winners(part_of(config, TopkConfig, redo=config.redo and not config.corpus), run, prepared)
    annotate(part_of(config, AnnotateConfig, redo=False), run)
    mine(part_of(config, MineConfig, redo=False), run)
    if not config.no_explain:
        explain(part_of(config, ExplainConfig, redo=False), run)
    if not config.no_tokens:
        tokens(part_of(config, TokensConfig, redo=False), run)
    if not config.dry_run:
        print(f"{config.out}: done\n{what_next(config.out)}")
