"""Prints what the options of `show` request, and how to inspect a finished run."""

import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from jobs.run_folder.run import Run
from jobs.show import read
from jobs.show.job import ShowConfig
from jobs.stage.shown import read_facts
from ops.errors import InputError, shell_word, visible
from ops.facts.best import said_also, said_in_brief
from ops.facts.neuron_facts import BETTER, NeuronFacts, read_neurons
from ops.facts.rows import name_of
from ops.facts.run_facts import RunFacts
from ops.show.best import lay_out_best, read_best, with_words
from ops.show.neuron import SCREEN, lay_out_neuron
from ops.topk.neuron_names import NEURON, parse_pair

BEST = "best"  # the value of --neuron for the neuron that a run explains best
LOOKED_AT = 500  # examples of patterns are searched for in this many winners
LISTED = 20  # default number of neurons in a list
# What can be printed instead of a neuron, and how it is read.
INSTEAD = {
    "psi": ("a head", read.head),
    "mixing": ("a table of ratios", read.mixing),
    "positions": ("a table of variants", read.positions),
    "compare": ("the whole run", read.compare),
    "audit": ("the whole run", read.audit),
    "contrast": ("the whole run", read.contrast),
    "word": ("a word", read.word),
    "find": ("what a search finds", read.find),
}


def show(config: ShowConfig) -> None:
    """Print the neuron, or what the options request instead."""
    print_facts(config, *_read(config))


def print_facts(config: ShowConfig, facts: Any, lay_out: Callable[[int], str]) -> None:
    """Print facts as JSON, or as text for the terminal's width.

    JSON is in ASCII unless the terminal's encoding is UTF-8. Text may have words of the corpus, so unsafe characters
    are spelled out.
    """
    if config.format == "json":
        print(json.dumps(facts, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))
    else:
        width = max(shutil.get_terminal_size((110, 24)).columns, 60)
        print("\n".join(map(visible, lay_out(width).split("\n"))))


def _read(config: ShowConfig) -> read.Facts:
    """Return what the first given option of `INSTEAD` requests, else a neuron or the list of the best.

    Raises:
        InputError: another option is given that cannot be combined with it.
    """
    run = Run(config.out, create=False)
    what = next((name for name in INSTEAD if getattr(config, name)), "")
    if not what:
        return _neuron(config, run) if config.neuron else _best(config, run)
    others = [name for name in ("neuron", *INSTEAD, "all") if name != what and getattr(config, name)]
    prints, reader = INSTEAD[what]
    if others:
        raise InputError(f"--{what} with --{others[0]}: --{what} prints {prints}; leave --{others[0]} out")
    return reader(run, config)


def _neuron(config: ShowConfig, run: Run) -> read.Facts:
    pole, rows = config.pole, config.rows or (None if config.all else SCREEN["winners"])
    named = None if config.neuron == BEST else parse_pair("--neuron", config.neuron, NEURON)
    known = read_facts(run)
    if named is None:
        best = read_best(known)
        if not best:
            raise InputError(
                f"--neuron {BEST}: no neuron of this run has a rule or scores above its "
                "matched set; name one as LAYER:UNIT"
            )
        neuron, pole = (best[0]["layer"], best[0]["unit"]), pole or best[0]["pole"]
    else:
        neuron = known.check("--neuron", named)
    facts = neuron_facts(known, neuron, pole, rows)
    return facts.as_json(config.all), partial(lay_out_neuron, facts, config.all, config.rows)


def neuron_facts(run: RunFacts, neuron: tuple[int, int], pole: str | None, rows: int | None) -> NeuronFacts:
    """Return the facts of a neuron at a pole (None: the better explained one), with examples.

    `rows` is the number of winners that are not hubs, and of examples; None for all.

    Raises:
        InputError: the run kept only the other pole.
    """
    if pole and pole not in run.poles:
        raise InputError(f"--pole {pole}: this run has only the other pole")
    looked_at = run.winners if rows is None else max(2 * rows, LOOKED_AT)
    ((facts,),) = read_neurons(run, [neuron], looked_at, pole or BETTER)
    return facts.with_examples(rows)


def _best(config: ShowConfig, run: Run) -> read.Facts:
    known = read_facts(run)
    best = [row for row in read_best(known) if config.pole in (None, row["pole"])]
    rows = with_words(known, best[: config.rows or (len(best) if config.all else LISTED)])
    return rows, partial(lay_out_best, known, rows, len(best))


def what_next(out: str) -> str:
    """Return text that names the best explained neuron of a finished run, and the commands to inspect neurons."""
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
        others = said_also(row) if "members" in row else ""
        also = f" (also in {others})" if others else ""
        first = f"{what}: {name_of(row)}{also}. {visible(row['text'])}"
    brief = said_in_brief(known)
    return "\n".join([*([brief[0].upper() + brief[1:]] if brief else []), first, *lines])
