"""Prints what the options of `show` request, and how to inspect a finished run."""

import json
import shutil
import sys
from collections.abc import Callable
from typing import Any

from jobs.run_folder.run import Run
from jobs.show.job import ShowConfig
from jobs.show.read import (
    audit_findings,
    best_neurons,
    comparison_text,
    head_text,
    neuron_facts,
    positions_text,
    word_facts,
)
from ops.errors import InputError, shell_word, visible
from ops.facts.audit_findings import lay_out_audit
from ops.facts.best import lay_out_best, name_of, with_words
from ops.show.neuron import SCREEN, lay_out_neuron
from ops.show.word import lay_out_word
from ops.topk.unit_names import unit_names

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


def show(config: ShowConfig) -> None:
    """Print the neuron, or what the options request instead."""
    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    run = Run(config.out, create=False)
    what, rows = _what(config), config.rows or 5
    if what == "psi":
        _print_text(head_text(run, config.psi, config.rows or 10, width))
    elif what == "positions":
        _print_text(positions_text(run))
    elif what == "compare":
        _print_text(comparison_text(run, rows, width))
    elif what == "audit":
        _print(config, audit_findings(run), lambda facts: lay_out_audit(facts, width))
    elif what == "word":
        _print(config, word_facts(run, config.word, rows), lambda facts: lay_out_word(facts, rows, width))
    elif what == "neuron":
        _print_neuron(config, run, width)
    else:
        _list_best(config, run, width)


def _what(config: ShowConfig) -> str:
    """Return the name of what to print: the first given option of `INSTEAD`, else `neuron` or `best` (the list).

    Raises:
        InputError: another option is given that cannot be combined with it.
    """
    what = next((name for name in INSTEAD if getattr(config, name)), "")
    if not what:
        return "neuron" if config.neuron else "best"
    others = [name for name in ("neuron", *INSTEAD, "all") if name != what and getattr(config, name)]
    if config.format != "text" and INSTEAD[what].endswith("as text"):
        others.append("format")
    if others:
        raise InputError(f"--{what} with --{others[0]}: --{what} prints {INSTEAD[what]}; leave --{others[0]} out")
    return what


def _print_neuron(config: ShowConfig, run: Run, width: int) -> None:
    which, pole = config.neuron, config.pole
    if which == BEST:
        best = best_neurons(run)
        if not best:
            raise InputError(
                f"--neuron {BEST}: no neuron of this run is explained or scores above its "
                "matched set; name one as LAYER:UNIT"
            )
        which, pole = f"{best[0]['layer']}:{best[0]['unit']}", pole or best[0]["pole"]
    rows = config.rows or (None if config.all else SCREEN["winners"])
    facts = neuron_facts(run, which, pole, rows, config.all)
    _print(config, facts, lambda facts: lay_out_neuron(facts, config.rows, width))


def _list_best(config: ShowConfig, run: Run, width: int) -> None:
    best = [row for row in best_neurons(run) if config.pole in (None, row["pole"])]
    rows = with_words(run.store, best[: config.rows or (len(best) if config.all else LISTED)])
    _print(config, rows, lambda rows: lay_out_best(rows, len(best), width, unit_names(run.require("topk"))))


def _print(config: ShowConfig, facts: Any, lay_out: Callable[[Any], str]) -> None:
    """Print facts as text or as JSON, which is in ASCII unless the terminal's encoding is UTF-8."""
    if config.format == "json":
        print(json.dumps(facts, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))
    else:
        _print_text(lay_out(facts))


def _print_text(text: str) -> None:
    """Print lines, which may contain words of the corpus, on a terminal with any encoding."""
    print("\n".join(visible(line) for line in text.split("\n")))


def what_next(out: str) -> str:
    """Return text that names the best explained neuron of a finished run, and the commands to inspect neurons.

    Args:
        out: the run directory.
    """
    run = Run(out, create=False)
    best = with_words(run.store, best_neurons(run)[:1])
    which = f"{best[0]['layer']}:{best[0]['unit']}" if best else "1:0"
    commands = {
        f"atlas show --out {shell_word(out)} --neuron {which}": "prints it" if best else "prints a neuron",
        f"atlas show --out {shell_word(out)}": "lists the best neurons",
        f"atlas report --out {shell_word(out)}": "writes pages of the best neurons",
        f"atlas browse --out {shell_word(out)}": "serves a page of every neuron, and a search",
    }
    width = max(map(len, commands))
    lines = [f"  {command:<{width}}  {does}" for command, does in commands.items()]
    first = "No neuron stands out"
    for row in best:
        what = "Best explained" if "members" in row else "Held-out score furthest above its matched set's"
        first = f"{what}: {name_of(row)}. {visible(row['text'])}"
    return "\n".join([first, *lines])
