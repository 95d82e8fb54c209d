"""Score texts of your own: which neurons they activate, at which words, and how unusual that is.

    atlas respond --out runs/small --text "The storm tore the roof off the barn."
    atlas respond --out runs/small --file texts.txt --to responses.parquet
    cut -f 2 table.tsv | atlas respond --out runs/small --file - --json

Reads a run with topk/ and activations/, and explanations/ if there are any. Each text is scored exactly as the run's
sentences were. Takes no lock and writes nothing into the run. Starts Ray only for 1,000 texts or more.

What to expect (two shared cores, November 2026): the start takes about 10 s of processor time; then ten sentences take
0.7 s, in a run of 2,304 neurons with an activation sample of 5,000 sentences (`python -m bench respond`).
"""

from typing import Literal

from jobs.options.configs import JobConfig, Texts, option
from jobs.stage.main import Job

TOP = 20  # neurons that are listed by default


class RespondConfig(JobConfig):
    """Options of `respond`."""

    heading = (10, "Texts")

    text: Texts = option((), "Score this text; repeatable")
    file: str = option("", "Score each line of this file; - for standard input")
    split: bool = option(False, "Split texts into sentences, and score each")
    top: int = option(TOP, "List this many neurons per text, one for each family", ge=1)
    layer: int | None = option(None, "List only neurons of this layer", ge=0)
    all: bool = option(False, "List all neurons per text, not only --top, and each of a family")
    json_: bool = option(False, "Print one JSON object")
    to: str = option("", "Write every neuron's response to every text to this Parquet file")
    model: str = option("", "New place of the model of topk, if it has moved (default: where topk found it)")
    device: Literal["auto", "cpu", "cuda"] = option(
        "auto", "Run the model here; auto: where topk ran it, if it can be run there, else on the CPU"
    )


JOB = Job("respond", RespondConfig, "jobs.respond.steps:respond", __doc__)
