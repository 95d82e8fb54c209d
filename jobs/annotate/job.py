"""Annotate the winners and a uniform baseline sample with words, part-of-speech tags and parses.

    atlas annotate --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.annotate --out s3://bucket/run --preset paper

Writes sentences/. Needs topk/ (jobs.topk). Runs one process per core, with one thread each.

What to expect (two cores, November 2026): the included pipeline annotates 20,300 to 24,600 words per second of
processor time (`python -m bench english`, without tables and codes).
"""

from typing import Literal

from jobs.options.configs import StageConfig, option
from jobs.stage.main import Job


class AnnotateConfig(StageConfig):
    """Options of `annotate`."""

    heading = (40, "Tags and parses (annotate)")

    pipeline: str = option(
        "english", "Use this spaCy pipeline: english (included), blank (words only), a package or a directory"
    )
    scope: Literal["named", "all"] = option(
        "named", "Annotate only the sentences that other tables name, or all of the corpus"
    )
    baseline_size: int | None = option(
        None, "Draw this many sentences as the uniform baseline sample (default: all)", ge=0
    )


JOB = Job("annotate", AnnotateConfig, "jobs.annotate.steps:annotate", __doc__)
