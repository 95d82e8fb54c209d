"""Print one neuron (its sentences, what they have in common, against the corpus), an attention head, or positions.

    python -m jobs.show --out runs/small --neuron 3:17
    python -m jobs.show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20 --all
    python -m jobs.show --out runs/small --neuron 3:17 --format json | jq .prefers
    python -m jobs.show --out runs/psi --psi 4:2
    python -m jobs.show --out runs/docs --positions

Reads the tables of a finished run; starts no Ray.
"""

import io
import shutil
import sys
from typing import ClassVar, Literal

from pydantic import Field

from jobs.stage.command_line import main
from jobs.stage.config import JobConfig


class ShowConfig(JobConfig):
    """Options of `show`."""

    heading: ClassVar[tuple[int, str]] = (10, "What to show")

    neuron: str = Field("", description="LAYER:UNIT, layers from 1, units from 0")
    psi: str = Field("", description="LAYER:HEAD, layers from 1, heads from 0: the tokens that a head stretches most")
    positions: bool = Field(False, description="what the model does without its position embeddings")
    pole: Literal["top", "bottom"] = Field("top", description="highest or lowest activations")
    rows: int | None = Field(None, ge=1, description="lines of each list; none given: what fits a screen")
    all: bool = Field(False, description="list all that was mined and counted, with or without preference")
    format: Literal["text", "json"] = Field("text", description="for a terminal, or one JSON object")


def run(config: ShowConfig) -> None:
    """Print the neuron, the head or the table."""
    import json

    from jobs.stage.record import Run
    from jobs.steps.show import read_neuron, show_head, show_positions
    from ops.errors import InputError
    from ops.show.neuron import lay_out_neuron

    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    record = Run(config.out, create=False)
    what, prints = ("psi", "a head") if config.psi else ("positions", "a table of variants")
    if config.psi or config.positions:
        others = {"neuron": config.neuron, "all": config.all, "format": config.format != "text"}
        others["positions"] = bool(config.psi) and config.positions
        for name, given in others.items():
            if given:
                raise InputError(f"--{what} with --{name}: --{what} prints {prints}, as text; leave --{name} out")
        shown = show_head(record, config.psi, config.rows or 10, width) if config.psi else show_positions(record)
        _print(shown)
        return
    facts = read_neuron(record, config.neuron, config.pole, config.rows or 5, config.all)
    if config.format == "json":
        print(json.dumps(facts, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))
    else:
        _print(lay_out_neuron(facts, config.rows, width))


def _print(text: str) -> None:
    """Print lines of which some are the corpus's words, to a terminal of any alphabet."""
    from ops.errors import visible

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    print("\n".join(visible(line) for line in text.split("\n")))


if __name__ == "__main__":
    sys.exit(main(ShowConfig, "show", str(__doc__).splitlines()[0], run))
