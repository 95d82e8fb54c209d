"""List the neurons that a run explains best, or print one neuron, or the findings of a side job.

    python -m jobs.show --out runs/small
    python -m jobs.show --out runs/small --neuron 3:17
    python -m jobs.show --out runs/small --neuron best
    python -m jobs.show --out s3://bucket/run --neuron 11:309 --pole bottom --rows 20 --all
    python -m jobs.show --out runs/small --neuron 3:17 --format json | jq .findings
    python -m jobs.show --out runs/psi --psi 4:2
    python -m jobs.show --out runs/docs --positions
    python -m jobs.show --out runs/small --compare
    python -m jobs.show --out runs/small --audit
    python -m jobs.show --out runs/meaning --word banana

For a neuron it prints, at the better explained pole, what the neuron responds to, its winners, and a list of what
distinguishes the winners from the corpus. Reads the tables of a finished run and does not start Ray.
"""

import shutil
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from jobs.stage.command_line import Job
from jobs.stage.options import JobConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run

BEST = "best"  # the value of --neuron for the neuron that a run explains best
LISTED = 20  # default number of neurons in a list
# What can be printed instead of a neuron.
INSTEAD = {
    "psi": "a head, as text",
    "positions": "a table of variants, as text",
    "compare": "the whole run, as text",
    "audit": "the whole run",
    "word": "a word",
}


class ShowConfig(JobConfig):
    """Options of `show`."""

    heading: ClassVar[tuple[int, str]] = (10, "What to print")

    neuron: str = Field(
        "",
        description="Print this neuron: LAYER:UNIT (layers from 1, units from 0) or best (default: list the best)",
    )
    psi: str = Field(
        "", description="Print the tokens that this head stretches most: LAYER:HEAD (layers from 1, heads from 0)"
    )
    positions: bool = Field(False, description="Print what the model does without its position embeddings")
    compare: bool = Field(False, description="Print the findings of jobs.compare, each next to its null")
    audit: bool = Field(
        False, description="Print the findings of jobs.audit: how far explanations hold in other data sets"
    )
    word: str = Field(
        "", description="Print the contexts of this word and its neighbours in every space (jobs.meaning)"
    )
    pole: Literal["top", "bottom"] | None = Field(
        None, description="Print this pole: highest or lowest activations (default: the better explained of the two)"
    )
    rows: int | None = Field(
        None, ge=1, description="Print this many lines per list (default: as many as fit a screen)"
    )
    all: bool = Field(
        False,
        description="Print everything that was mined and counted, and also winners that win nearly everywhere",
    )
    format: Literal["text", "json"] = Field("text", description="Print text for a terminal, or one JSON object")


def run(config: ShowConfig) -> None:
    """Print the neuron, or what the options request instead."""
    from jobs.show.read import audit_findings, comparison_text, head_text, positions_text, word_facts
    from jobs.stage.run import Run
    from ops.show.audit_findings import lay_out_audit
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
    elif what == "audit":
        found = audit_findings(record)
        _print_json(found) if config.format == "json" else _print(lay_out_audit(found, width))
    elif what == "word":
        facts = word_facts(record, config.word, rows)
        _print_json(facts) if config.format == "json" else _print(lay_out_word(facts, rows, width))
    elif what == "neuron":
        _print_neuron(config, record, width)
    else:
        _list_best(config, record, width)


def _print_neuron(config: ShowConfig, record: "Run", width: int) -> None:
    from jobs.show.read import best_neurons, neuron_facts
    from ops.errors import InputError
    from ops.show.neuron import SCREEN, lay_out_neuron

    which, pole = config.neuron, config.pole
    if which == BEST:
        found = best_neurons(record)
        if not found:
            raise InputError(
                f"--neuron {BEST}: no neuron of this run is explained or scores above its "
                "matched set; name one as LAYER:UNIT"
            )
        which, pole = f"{found[0]['layer']}:{found[0]['unit']}", pole or found[0]["pole"]
    rows = config.rows or (None if config.all else SCREEN["winners"])
    facts = neuron_facts(record, which, pole, rows, config.all)
    _print_json(facts) if config.format == "json" else _print(lay_out_neuron(facts, config.rows, width))


def _list_best(config: ShowConfig, record: "Run", width: int) -> None:
    from jobs.show.read import best_neurons
    from ops.show.best import lay_out_best, with_words
    from ops.topk.unit_names import unit_names

    found = [row for row in best_neurons(record) if config.pole in (None, row["pole"])]
    rows = with_words(record.store, found[: config.rows or (len(found) if config.all else LISTED)])
    _print_json(rows) if config.format == "json" else _print(
        lay_out_best(rows, len(found), width, unit_names(record.require("topk")))
    )


def what_next(out: str) -> str:
    """Return text that names the best explained neuron of a finished run, and the commands to inspect neurons.

    Args:
        out: the run directory.
    """
    from jobs.show.read import best_neurons
    from jobs.stage.run import Run
    from ops.errors import shell_word, visible
    from ops.show.best import name_of, with_words

    record = Run(out, create=False)
    best = with_words(record.store, best_neurons(record)[:1])
    which = f"{best[0]['layer']}:{best[0]['unit']}" if best else "1:0"
    commands = {
        f"jobs.show --out {shell_word(out)} --neuron {which}": "prints it" if best else "prints a neuron",
        f"jobs.show --out {shell_word(out)}": "lists the best neurons",
        f"jobs.report --out {shell_word(out)}": "writes pages of the best neurons",
        f"jobs.browse --out {shell_word(out)}": "serves a page of every neuron, and a search",
    }
    width = max(map(len, commands))
    lines = [f"  python -m {command:<{width}}  {does}" for command, does in commands.items()]
    first = "No neuron stands out"
    for row in best:
        what = "Best explained" if "members" in row else "Held-out score furthest above its matched set's"
        first = f"{what}: {name_of(row)}. {visible(row['text'])}"
    return "\n".join([first, *lines])


def _what(config: ShowConfig) -> str:
    """Return the name of what to print: the first given option of `INSTEAD`, else `neuron` or `best` (the list).

    Raises:
        InputError: another option is given that cannot be combined with it.
    """
    from ops.errors import InputError

    what = next((name for name in INSTEAD if getattr(config, name)), "")
    if not what:
        return "neuron" if config.neuron else "best"
    others = [name for name in ("neuron", *INSTEAD, "all") if name != what and getattr(config, name)]
    if config.format != "text" and INSTEAD[what].endswith("as text"):
        others.append("format")
    if others:
        raise InputError(f"--{what} with --{others[0]}: --{what} prints {INSTEAD[what]}; leave --{others[0]} out")
    return what


def _print_json(facts: dict[str, Any] | list[dict[str, Any]]) -> None:
    """Print one JSON object, or a list of them, in ASCII unless the terminal's encoding is UTF-8."""
    import json

    print(json.dumps(facts, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))


def _print(text: str) -> None:
    """Print lines, which may contain words of the corpus, on a terminal with any encoding."""
    from ops.errors import visible

    print("\n".join(visible(line) for line in text.split("\n")))


JOB = Job("show", ShowConfig, run, __doc__)
