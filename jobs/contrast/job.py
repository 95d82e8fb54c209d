"""Find the units that separate two groups of sentences, next to rotated axes and words.

    atlas contrast --out runs/reviews --by sentiment
    atlas contrast --out runs/six --a sentiment=positive --a dataset=tweets --b sentiment=negative --b dataset=tweets
    atlas contrast --out runs/docs --a-texts mine.txt --b-texts yours.txt
    ray job submit --working-dir . -- python -m jobs.contrast --out s3://bucket/run --by dataset --sentences 100000

Writes contrast/units (a row per contrast and unit), contrast/probes (how well k units of a layer tell the groups apart
in documents that they were not chosen on, next to rotated axes, the complete layer and words), contrast/controls and
figures. Needs topk/ (jobs.topk). Without --sentences and texts it uses the activation sample, and no model is run. The
first line printed says whether units do better than rotated axes and than words. docs/contrast.md explains the numbers.

What to expect (9,813 sentences, 2,301 units, November 2026): units and controls take 19 s of one core for each group,
and probes 120 s, 88 s of them for rotations (python -m bench contrast). --no-probes leaves them out.
"""

from typing import Literal

from jobs.options.configs import PlacementConfig, Texts, option
from jobs.stage.main import Job


class ContrastConfig(PlacementConfig):
    """Options of `contrast`."""

    heading = (56, "Your own groups (contrast)")

    by: Texts = option((), "Contrast each value of this metadata key, or of dataset, with the rest; repeatable")
    a: Texts = option((), "Sentences of group a have KEY=VALUE; repeat it for several conditions")
    b: Texts = option((), "Sentences of group b have KEY=VALUE; repeat it for several conditions")
    a_texts: str = option("", "Group a is these texts of your own, SOURCE as for --corpus")
    b_texts: str = option("", "Group b is these texts of your own, SOURCE as for --corpus")
    text_column: str = option("text", "Column of your own texts that holds the text")
    split: Literal["sentences", "none"] = option(
        "sentences", "Split your own texts into sentences, or take each row as one sentence (none)"
    )
    text_limit: int = option(10_000, "Read at most this many sentences of each group's texts, a uniform sample", ge=1)
    sentences: int | None = option(
        None, "Score this many sentences of the corpus, a uniform sample (default: activation sample)", ge=1
    )
    random_run: str = option("", "Also probe the units of this run: the same model with random weights, same corpus")
    no_probes: bool = option(False, "Skip the probes, which take most of the time")


JOB = Job("contrast", ContrastConfig, "jobs.contrast.steps:contrast", __doc__)
