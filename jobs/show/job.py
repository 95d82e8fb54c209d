"""Print one neuron (its sentences, what they have in common, against the corpus), or what a side job found.

    python -m jobs.show --out runs/small --neuron 3:17
    python -m jobs.show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20 --all
    python -m jobs.show --out runs/small --neuron 3:17 --format json | jq .prefers
    python -m jobs.show --out runs/psi --psi 4:2
    python -m jobs.show --out runs/docs --positions
    python -m jobs.show --out runs/small --compare
    python -m jobs.show --out runs/meaning --word banana

Reads the tables of a finished run; starts no Ray.
"""

import shutil
import sys
from typing import Any, ClassVar, Literal

from pydantic import Field

from jobs.stage.command_line import Job
from jobs.stage.options import JobConfig

# What may be printed in place of a neuron.
INSTEAD = {
    "psi": "a head, as text",
    "positions": "a table of variants, as text",
    "compare": "the whole run, as text",
    "word": "a word",
}


class ShowConfig(JobConfig):
    """Options of `show`."""

    heading: ClassVar[tuple[int, str]] = (10, "What to show")

    neuron: str = Field("", description="LAYER:UNIT, layers from 1, units from 0")
    psi: str = Field("", description="LAYER:HEAD, layers from 1, heads from 0: the tokens that a head stretches most")
    positions: bool = Field(False, description="what the model does without its position embeddings")
    compare: bool = Field(False, description="what jobs.compare found, each finding beside its null")
    word: str = Field("", description="a word: what stands near it, and its neighbours in every space (jobs.meaning)")
    pole: Literal["top", "bottom"] = Field("top", description="highest or lowest activations")
    rows: int | None = Field(None, ge=1, description="lines of each list; none given: what fits a screen")
    all: bool = Field(False, description="list all that was mined and counted, with or without preference")
    format: Literal["text", "json"] = Field("text", description="for a terminal, or one JSON object")


def run(config: ShowConfig) -> None:
    """Print the neuron, or what stands in its place."""
    from jobs.show.read import comparison_text, head_text, neuron_facts, positions_text, word_facts
    from jobs.stage.run import Run
    from ops.show.neuron import lay_out_neuron
    from ops.show.word import lay_out_word

    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    record = Run(config.out, create=False)
    what, rows = _what(config), config.rows or 5
    if what == "psi":
        _print(head_text(record, config.psi, config.rows or 10, width))
    elif what == "positions":
        _print(positions_text(record))
    elif what == "compare":
        _print(comparison_text(record, rows, width))
    elif what == "word":
        facts = word_facts(record, config.word, rows)
        _print_json(facts) if config.format == "json" else _print(lay_out_word(facts, rows, width))
    else:
        facts = neuron_facts(record, config.neuron, config.pole, rows, config.all)
        _print_json(facts) if config.format == "json" else _print(lay_out_neuron(facts, config.rows, width))


def _what(config: ShowConfig) -> str:
    """Return the option that names what to print, the first of those that exclude each other.

    Raises:
        InputError: another option is given that it leaves no room for.
    """
    from ops.errors import InputError

    what = next((name for name in INSTEAD if getattr(config, name)), "neuron")
    if what == "neuron":
        return what
    others = [name for name in ("neuron", *INSTEAD, "all") if name != what and getattr(config, name)]
    if config.format != "text" and INSTEAD[what].endswith("as text"):
        others.append("format")
    if others:
        raise InputError(f"--{what} with --{others[0]}: --{what} prints {INSTEAD[what]}; leave --{others[0]} out")
    return what


def _print_json(facts: dict[str, Any]) -> None:
    """Print one JSON object, in ASCII where the terminal's alphabet is not all of it."""
    import json

    print(json.dumps(facts, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))


def _print(text: str) -> None:
    """Print lines of which some are the corpus's words, to a terminal of any alphabet."""
    from ops.errors import visible

    print("\n".join(visible(line) for line in text.split("\n")))


JOB = Job("show", ShowConfig, run, __doc__)
