"""Prints what the options of `show` request, and how to inspect a finished run."""

import json
import shutil
import sys
from collections.abc import Callable
from typing import Any

from jobs.run_folder.run import Run
from jobs.show.job import ShowConfig
from jobs.show.read import audit_findings, comparison_lists, head_lists, mixing_lists, position_lists, word_facts
from jobs.stage.shown import read_facts
from ops.errors import InputError, shell_word, visible
from ops.facts.listing import Listing
from ops.facts.neuron_facts import BETTER, NeuronFacts, read_neurons
from ops.facts.run_facts import RunFacts, name_of
from ops.show.audit import lay_out_audit
from ops.show.best import lay_out_best, read_best, with_words
from ops.show.listing import lay_out_listings
from ops.show.neuron import SCREEN, lay_out_neuron
from ops.show.word import word_listings
from ops.topk.neuron_names import NEURON, parse_pair

BEST = "best"  # the value of --neuron for the neuron that a run explains best
LOOKED_AT = 500  # examples of patterns are searched for in this many winners
LISTED = 20  # default number of neurons in a list
# What can be printed instead of a neuron.
INSTEAD = {
    "psi": "a head",
    "mixing": "a table of ratios",
    "positions": "a table of variants",
    "compare": "the whole run",
    "audit": "the whole run",
    "word": "a word",
}


def show(config: ShowConfig) -> None:
    """Print the neuron, or what the options request instead."""
    width = max(shutil.get_terminal_size((110, 24)).columns, 60)
    run = Run(config.out, create=False)
    what, rows = _what(config), config.rows or 5
    if what == "audit":
        _print(config, audit_findings(run), lambda facts: lay_out_audit(facts, width))
    elif what == "word":
        word = word_facts(run, config.word, rows)
        _print(config, word, lambda facts: lay_out_listings(word_listings(facts, rows), width))
    elif what == "neuron":
        _print_neuron(config, run, width)
    elif what == "best":
        _list_best(config, run, width)
    else:
        read: dict[str, Callable[[], list[Listing]]] = {
            "psi": lambda: head_lists(run, config.psi, config.rows or 10),
            "mixing": lambda: mixing_lists(run),
            "positions": lambda: position_lists(run),
            "compare": lambda: comparison_lists(run, rows),
        }
        listings = read[what]()
        _print(config, [one._asdict() for one in listings], lambda _: lay_out_listings(listings, width))


def _what(config: ShowConfig) -> str:
    """Return the name of what to print: the first given option of `INSTEAD`, else `neuron` or `best` (the list).

    Raises:
        InputError: another option is given that cannot be combined with it.
    """
    what = next((name for name in INSTEAD if getattr(config, name)), "")
    if not what:
        return "neuron" if config.neuron else "best"
    others = [name for name in ("neuron", *INSTEAD, "all") if name != what and getattr(config, name)]
    if others:
        raise InputError(f"--{what} with --{others[0]}: --{what} prints {INSTEAD[what]}; leave --{others[0]} out")
    return what


def _print_neuron(config: ShowConfig, run: Run, width: int) -> None:
    pole, rows = config.pole, config.rows or (None if config.all else SCREEN["winners"])
    named = None if config.neuron == BEST else parse_pair("--neuron", config.neuron, NEURON)
    known = read_facts(run)
    if named is None:
        best = read_best(known)
        if not best:
            raise InputError(
                f"--neuron {BEST}: no neuron of this run is explained or scores above its "
                "matched set; name one as LAYER:UNIT"
            )
        neuron, pole = (best[0]["layer"], best[0]["unit"]), pole or best[0]["pole"]
    else:
        neuron = known.check("--neuron", named)
    facts = neuron_facts(known, neuron, pole, rows)
    if config.format == "json":
        _print_json(facts.as_json(config.all))
    else:
        _print_text(lay_out_neuron(facts, config.all, config.rows, width))


def neuron_facts(run: RunFacts, neuron: tuple[int, int], pole: str | None, rows: int | None) -> NeuronFacts:
    """Return the facts of a neuron at a pole (None: the better explained one), with examples.

    Args:
        run: what is known about the run.
        neuron: its layer and unit.
        pole: the pole.
        rows: the number of winners that are not hubs, and of examples of each kind; None for all.

    Raises:
        InputError: the run kept only the other pole.
    """
    if pole and pole not in run.poles:
        raise InputError(f"--pole {pole}: this run has only the other pole")
    looked_at = run.winners if rows is None else max(2 * rows, LOOKED_AT)
    ((facts,),) = read_neurons(run, [neuron], looked_at, pole or BETTER)
    return facts.with_examples(rows)


def _list_best(config: ShowConfig, run: Run, width: int) -> None:
    known = read_facts(run)
    best = [row for row in read_best(known) if config.pole in (None, row["pole"])]
    rows = with_words(known, best[: config.rows or (len(best) if config.all else LISTED)])
    _print(config, rows, lambda rows: lay_out_best(known, rows, len(best), width))


def _print(config: ShowConfig, facts: Any, lay_out: Callable[[Any], str]) -> None:
    """Print facts as text or as JSON, which is in ASCII unless the terminal's encoding is UTF-8."""
    if config.format == "json":
        _print_json(facts)
    else:
        _print_text(lay_out(facts))


def _print_json(facts: Any) -> None:
    print(json.dumps(facts, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))


def _print_text(text: str) -> None:
    """Print lines, which may contain words of the corpus, on a terminal with any encoding."""
    print("\n".join(visible(line) for line in text.split("\n")))


def what_next(out: str) -> str:
    """Return text that names the best explained neuron of a finished run, and the commands to inspect neurons.

    Args:
        out: the run directory.
    """
    known = read_facts(Run(out, create=False))
    best = with_words(known, read_best(known)[:1])
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
