"""Print one neuron (its sentences, what they have in common, against the corpus), a head, or what was compared.

    python -m jobs.show --out runs/small --neuron 3:17
    python -m jobs.show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20 --all
    python -m jobs.show --out runs/small --neuron 3:17 --format json | jq .prefers
    python -m jobs.show --out runs/psi --psi 4:2
    python -m jobs.show --out runs/small --compare

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
    compare: bool = Field(False, description="what jobs.compare found, each finding beside its null")
    pole: Literal["top", "bottom"] = Field("top", description="highest or lowest activations")
    rows: int | None = Field(None, ge=1, description="lines of each list; none given: what fits a screen")
    all: bool = Field(False, description="list all that was mined and counted, with or without preference")
    format: Literal["text", "json"] = Field("text", description="for a terminal, or one JSON object")


def run(config: ShowConfig) -> None:
    """Print the neuron, the head, or what was compared."""
    import json

    from jobs.stage.record import Run
    from jobs.steps.show import read_neuron, show_head
    from jobs.steps.show_comparison import show_comparison
    from ops.errors import InputError
    from ops.show.neuron import lay_out_neuron

    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    record = Run(config.out, create=False)
    if config.psi:
        for name, given in (("neuron", config.neuron), ("all", config.all), ("format", config.format != "text")):
            if given:
                raise InputError(f"--psi with --{name}: --psi prints a head, as text; leave --{name} out")
        _print(show_head(record, config.psi, config.rows or 10, width))
        return
    if config.compare:
        for name, given in (("neuron", config.neuron), ("all", config.all), ("format", config.format != "text")):
            if given:
                raise InputError(
                    f"--compare with --{name}: --compare prints the whole run, as text; leave --{name} out"
                )
        _print(show_comparison(record, config.rows or 5, width))
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
