"""Print one neuron (its sentences, what they have in common, against the corpus), one attention head or one word.

    python -m jobs.show --out runs/small --neuron 3:17
    python -m jobs.show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20 --all
    python -m jobs.show --out runs/small --neuron 3:17 --format json | jq .prefers
    python -m jobs.show --out runs/psi --psi 4:2
    python -m jobs.show --out runs/meaning --word banana

Reads the tables of a finished run; starts no Ray.
"""

import io
import shutil
import sys
from typing import Any, ClassVar, Literal

from pydantic import Field

from jobs.stage.command_line import main
from jobs.stage.config import JobConfig


class ShowConfig(JobConfig):
    """Options of `show`."""

    heading: ClassVar[tuple[int, str]] = (10, "What to show")

    neuron: str = Field("", description="LAYER:UNIT, layers from 1, units from 0")
    psi: str = Field("", description="LAYER:HEAD, layers from 1, heads from 0: the tokens that a head stretches most")
    word: str = Field("", description="a word: what stands near it, and its neighbours in every space (jobs.meaning)")
    pole: Literal["top", "bottom"] = Field("top", description="highest or lowest activations")
    rows: int | None = Field(None, ge=1, description="lines of each list; none given: what fits a screen")
    all: bool = Field(False, description="list all that was mined and counted, with or without preference")
    format: Literal["text", "json"] = Field("text", description="for a terminal, or one JSON object")


def run(config: ShowConfig) -> None:
    """Print the neuron, the head or the word."""
    from jobs.stage.record import Run
    from jobs.steps.show import read_neuron, show_head
    from jobs.steps.show_word import read_word
    from ops.errors import InputError
    from ops.show.neuron import lay_out_neuron
    from ops.show.word import lay_out_word

    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    record = Run(config.out, create=False)
    if config.psi:
        for name, given in (
            ("neuron", config.neuron),
            ("word", config.word),
            ("all", config.all),
            ("format", config.format != "text"),
        ):
            if given:
                raise InputError(f"--psi with --{name}: --psi prints a head, as text; leave --{name} out")
        _print(show_head(record, config.psi, config.rows or 10, width))
        return
    if config.word:
        for name, given in (("neuron", config.neuron), ("all", config.all)):
            if given:
                raise InputError(f"--word with --{name}: --word prints a word; leave --{name} out")
        found = read_word(record, config.word, config.rows or 5)
        if config.format == "json":
            _print_json(found)
        else:
            _print(lay_out_word(found, config.rows or 5, width))
        return
    facts = read_neuron(record, config.neuron, config.pole, config.rows or 5, config.all)
    if config.format == "json":
        _print_json(facts)
    else:
        _print(lay_out_neuron(facts, config.rows, width))


def _print_json(facts: dict[str, Any]) -> None:
    """Print one JSON object, in ASCII where the terminal's alphabet is not all of it."""
    import json

    print(json.dumps(facts, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))


def _print(text: str) -> None:
    """Print lines of which some are the corpus's words, to a terminal of any alphabet."""
    from ops.errors import visible

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    print("\n".join(visible(line) for line in text.split("\n")))


if __name__ == "__main__":
    sys.exit(main(ShowConfig, "show", str(__doc__).splitlines()[0], run))
