"""List the neurons that a run explains best, or print one neuron, or the findings of a side job.

    atlas show --out runs/small
    atlas show --out runs/small --neuron 3:17
    atlas show --out runs/small --neuron best
    atlas show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20 --all
    atlas show --out runs/small --neuron 3:17 --format json | jq .findings
    atlas show --out runs/small --find "past participle lift:>2"
    atlas show --out runs/psi --psi 4:2
    atlas show --out runs/docs --mixing
    atlas show --out runs/docs --positions
    atlas show --out runs/small --compare
    atlas show --out runs/small --audit
    atlas show --out runs/small --contrast
    atlas show --out runs/meaning --word banana

For a neuron it prints, at the better explained pole, what the neuron responds to, its winners, and a list of what
distinguishes the winners from the corpus. Reads the tables of a finished run and does not start Ray.
"""

from typing import Literal

from jobs.options.configs import JobConfig, option
from jobs.stage.main import Job


class ShowConfig(JobConfig):
    """Options of `show`."""

    heading = (10, "What to print")
    notes = ('A text of your own: atlas respond --out RUN --text "..."',)

    neuron: str = option(
        "", "Print this neuron: LAYER:UNIT (layers from 1, units from 0) or best (default: list the best)"
    )
    psi: str = option("", "Print the tokens that this head stretches most: LAYER:HEAD (layers from 1, heads from 0)")
    mixing: bool = option(False, "Print how much tokens take from others (atlas mixing)")
    positions: bool = option(False, "Print what the model does without its position embeddings")
    compare: bool = option(False, "Print the findings of atlas compare, each next to its null")
    audit: bool = option(False, "Print the findings of atlas audit: how far explanations hold in other data sets")
    contrast: bool = option(False, "Print the units that separate your groups (atlas contrast)")
    word: str = option("", "Print the contexts of this word and its neighbours in every space (atlas meaning)")
    find: str = option("", "Print the neurons for a word, tag, construction or label, with filters such as lift:>2")
    pole: Literal["top", "bottom"] | None = option(
        None, "Print this pole: highest or lowest activations (default: the better explained of the two)"
    )
    rows: int | None = option(None, "Print this many lines per list (default: as many as fit a screen)", ge=1)
    all: bool = option(
        False, "Print everything that was mined and counted, and also winners that win nearly everywhere"
    )
    format: Literal["text", "json"] = option("text", "Print text for a terminal, or one JSON object")


JOB = Job("show", ShowConfig, "jobs.show.printing:show", __doc__)
