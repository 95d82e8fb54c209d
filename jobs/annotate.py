"""Annotate the winners and a uniform baseline sample with words, part-of-speech tags and parses.

    python -m jobs.annotate --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.annotate --out s3://bucket/run --preset paper

Writes sentences/. Needs topk/ (jobs.topk). One process a core, one thread each.

What to expect (two cores, November 2026): 20,300 to 24,600 words a second of processor time with the shipped pipeline
(`python -m bench english`; tables and codes apart).
"""

import sys
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from jobs.stage.command_line import main
from jobs.stage.options import StageConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run


class AnnotateConfig(StageConfig):
    """Options of `annotate`."""

    heading: ClassVar[tuple[int, str]] = (40, "annotate: tags and parses")

    pipeline: str = Field(
        "english", description="spaCy pipeline: english (shipped), blank (words only), a package or a directory"
    )
    scope: Literal["named", "all"] = Field("named", description="sentences that other tables name, or the whole corpus")
    baseline_size: int | None = Field(
        None, ge=0, description="sentences of the uniform baseline sample; none given: all"
    )


def run(config: AnnotateConfig) -> None:
    """Do the stage, or what is missing of it."""
    from jobs.stage.dry_run import open_run

    with open_run(config) as record:
        do(config, record)


def do(config: AnnotateConfig, record: "Run") -> None:
    """Do the stage, or what is missing of it, in an open run."""
    from jobs.stage.dry_run import DryRun
    from jobs.stage.runner import begin
    from jobs.steps.annotate import annotate_step, read_counts, select_sentences, vocabulary_step
    from ops.sentences.pipeline import describe, load_pipeline
    from ops.shards import Shards

    corpus, topk = record.require("ingest"), record.require("topk")
    identity = {
        "pipeline": describe(load_pipeline(config.pipeline)),
        "scope": config.scope,
        "baseline_size": config.baseline_size,
        "seed": config.seed,
    }
    counted = ("sentences", "sentences")
    stage = begin("annotate", config, record, identity, config.model_dump(mode="json"), counted)
    if stage is None:
        return
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    if isinstance(record, DryRun):
        from jobs.plans.annotate import plan_annotate

        whole = config.scope == "all"
        plan_annotate(record, stage, shards, config.pipeline, whole, config.baseline_size, config.seed)
        return
    selected = select_sentences(stage.store, shards, config.scope == "all", config.baseline_size, config.seed)
    args = {"store": stage.store, "pipeline": config.pipeline, "fingerprint": stage.fingerprint}
    stage.do(annotate_step(shards, sum(selected), args))
    stage.do(vocabulary_step(stage.store, len(shards), stage.fingerprint))
    counts = read_counts(stage.store)
    if counts["sentences"] != sum(selected):
        raise RuntimeError(f"annotate: {sum(selected)} sentences were to be annotated, {counts['sentences']} were")
    if counts["sentences"] and not counts["trees"]:
        print(
            f"annotate: {config.pipeline} gives no constituency trees; tree stays null, no subtrees are mined",
            file=sys.stderr,
        )
    stage.finish({**counts, "scored": topk["counts"]["scored"]})


if __name__ == "__main__":
    sys.exit(main(AnnotateConfig, "annotate", str(__doc__).splitlines()[0], run))
