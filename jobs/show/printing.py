"""Prints what the options of `show` request, and how to inspect a finished run.

A function that reads what is printed returns it for JSON, and a function that lays it out for a width. It raises an
InputError if the tables are missing, or have nothing under the given name.
"""

import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from jobs.run_folder.again import command
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.show.job import ShowConfig
from jobs.stage.shown import read_facts
from ops.errors import InputError, shell_word, visible
from ops.facts.audit_findings import read_audit_findings
from ops.facts.best import said_also, said_in_brief
from ops.facts.comparison import comparisons, read_findings
from ops.facts.contrasts import read_contrasts
from ops.facts.listing import Listing, lay_out_listings
from ops.facts.neuron_facts import BETTER, NeuronFacts, read_neurons
from ops.facts.query import parse_query
from ops.facts.rows import name_of
from ops.facts.run_facts import RunFacts
from ops.facts.search import Searcher, found_listing
from ops.show.best import lay_out_best, read_best, with_words
from ops.show.neuron import SCREEN, lay_out_neuron
from ops.show.side_jobs import (
    head_listings,
    lay_out_audit,
    lay_out_contrasts,
    mixing_ratios,
    position_listings,
    read_head,
    read_positions,
    read_word,
    word_listings,
)
from ops.storage.tables import read_table
from ops.topk.neurons import NEURON, parse_pair

Facts = tuple[Any, Callable[[int], str]]

HEAD = "LAYER:HEAD, such as 4:2 (layers from 1, heads from 0)"
LINES = 5  # default number of lines in a list
SECONDS = 600.0  # maximum duration of a search
BEST = "best"  # the value of --neuron for the neuron that a run explains best
LOOKED_AT = 500  # examples of patterns are searched for in this many winners
LISTED = 20  # default number of neurons in a list


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


def _read(config: ShowConfig) -> Facts:
    """Return what the first given option of `INSTEAD` requests, else a neuron or the list of the best."""
    run = Run(config.out, create=False)
    what = next((name for name in INSTEAD if getattr(config, name)), "")
    if not what:
        return _neuron(config, run) if config.neuron else _best(config, run)
    without = ("neuron", *INSTEAD, "all", *(("pole",) if what != "find" else ()))
    others = [name for name in without if name != what and getattr(config, name)]
    prints, reader = INSTEAD[what]
    if others:
        raise InputError(f"--{what} with --{others[0]}: --{what} prints {prints}; leave --{others[0]} out")
    return reader(run, config)


def _neuron(config: ShowConfig, run: Run) -> Facts:
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
    """
    if pole and pole not in run.poles:
        raise InputError(f"--pole {pole}: this run has only the other pole")
    looked_at = run.winners if rows is None else max(2 * rows, LOOKED_AT)
    ((facts,),) = read_neurons(run, [neuron], looked_at, pole or BETTER)
    return facts.with_examples(rows)


def _best(config: ShowConfig, run: Run) -> Facts:
    known = read_facts(run)
    best = [row for row in read_best(known) if config.pole in (None, row["pole"])]
    rows = with_words(known, best[: config.rows or (len(best) if config.all else LISTED)])
    return rows, partial(lay_out_best, known, rows, len(best), config.pole)


def what_next(out: str) -> str:
    """Return text that names the best explained neuron of a finished run, and the commands to inspect neurons."""
    known = read_facts(Run(out, create=False))
    best = with_words(known, read_best(known)[:1])
    which = f"{best[0]['layer']}:{best[0]['unit']}" if best else f"{known.units.layers[0]}:0"
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


def word(run: Run, config: ShowConfig) -> Facts:
    """Return the facts of a word (see `read_word`)."""
    counted = run.require("meaning/counts")
    compared = run.stage("meaning/offsets") if run.complete("meaning/offsets") else None
    run.check_files("meaning/counts", *(["meaning/offsets"] if compared else []))
    spaces, rows = compared["counts"]["spaces"] if compared else [], config.rows or LINES
    facts = read_word(run.store, counted["config"], spaces, config.word, rows)
    return facts, partial(lay_out_listings, word_listings(facts, rows))


def find(run: Run, config: ShowConfig) -> Facts:
    """Return the neurons that a search finds, as `Searcher.find` returns them."""
    facts = read_facts(run)
    try:
        query = parse_query(config.find)
        if config.pole and query.pole not in ("", config.pole):
            raise InputError(f"pole:{query.pole}: --pole says {config.pole}; leave one of the two out")
        query = query._replace(pole=config.pole or query.pole)
        rows = Searcher.of(facts, SECONDS).find(query)
    except InputError as error:
        raise InputError(f"--find: {error}") from error
    rows = rows[: config.rows]
    return rows, partial(lay_out_listings, [found_listing(query, rows, facts.names.one)])


def head(run: Run, config: ShowConfig) -> Facts:
    """Return the findings about a head."""
    layer, number = parse_pair("--psi", config.psi, HEAD)
    counts = run.require("psi")["counts"]
    has_contextual = run.complete("psi/contextual")
    run.check_files("psi", *(["psi/contextual"] if has_contextual else []))
    if not (1 <= layer <= counts["layers"] and number < counts["heads"]):
        raise InputError(
            f"--psi {config.psi}: there is no such head; layers run from 1 to {counts['layers']}, "
            f"heads from 0 to {counts['heads'] - 1}"
        )
    rows = config.rows or 2 * LINES
    return _lists(head_listings(layer, number, *read_head(run.store, layer, number, rows, has_contextual), rows))


def mixing(run: Run, config: ShowConfig) -> Facts:
    """Return the mean ratios of `mixing`."""
    run.require("mixing")
    run.check_files("mixing", only=("mixing/ratios",))
    return _lists([mixing_ratios(read_table(run.store, "mixing/ratios").to_pylist())])


def audit(run: Run, config: ShowConfig) -> Facts:
    """Return the findings of `audit` (see `read_audit_findings`)."""
    run.require("explain")
    run.require("audit")
    run.check_files("explain", "audit")
    facts = read_audit_findings(run.store)
    return facts, partial(lay_out_audit, facts)


def contrast(run: Run, config: ShowConfig) -> Facts:
    """Return what `contrast` found: the sentences about probes, and the lists of probes and units."""
    run.require("contrast")
    run.check_files("contrast")
    facts = read_contrasts(run.store, config.rows or 2 * LINES)
    lists = [listing._asdict() for listing in facts["lists"]]
    return {**facts, "lists": lists}, partial(lay_out_contrasts, facts)


def positions(run: Run, config: ShowConfig) -> Facts:
    """Return the findings of `positions`."""
    from ops.positions.variants import VARIANTS  # imports torch, which nothing else here needs

    run.require("positions")
    run.check_files("positions")
    return _lists(position_listings(*read_positions(run.store), list(VARIANTS)))


def compare(run: Run, config: ShowConfig) -> Facts:
    """Return the findings of `compare`, and the names of the parts that have not run."""
    parts = [name for name in STAGES if name.startswith("compare/")]
    done = [part for part in parts if run.complete(part)]
    if not done:
        raise InputError(f"--out {run.store.uri}: nothing was compared yet; run", command(run.store.uri, "compare", {}))
    run.check_files(*done)
    missing = [part.partition("/")[2] for part in parts if part not in done]
    findings = comparisons(read_findings(run.store, run.record["tables"]), config.rows or LINES)
    return _lists([*findings, *([Listing(f"Not compared: {', '.join(missing)}")] if missing else [])])


def _lists(listings: list[Listing]) -> Facts:
    return [listing._asdict() for listing in listings], partial(lay_out_listings, listings)


# What can be printed instead of a neuron, and what reads it.
INSTEAD = {
    "psi": ("a head", head),
    "mixing": ("a table of ratios", mixing),
    "positions": ("a table of variants", positions),
    "compare": ("the whole run", compare),
    "audit": ("the whole run", audit),
    "contrast": ("the whole run", contrast),
    "word": ("a word", word),
    "find": ("what a search finds", find),
}
