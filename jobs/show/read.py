"""Reads what `show` prints of side jobs, after checking that they are complete and their files in place.

Each function returns the facts for JSON, and a function that lays them out for a width. It raises an InputError if the
tables are missing, or have nothing under the given name.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from jobs.run_folder.again import command
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.show.job import ShowConfig
from jobs.stage.shown import read_facts
from ops.errors import InputError
from ops.facts.audit_findings import read_audit_findings
from ops.facts.comparison import comparisons, read_findings
from ops.facts.contrasts import read_contrasts
from ops.facts.listing import Listing
from ops.facts.query import parse_query
from ops.facts.search import Searcher, found_listing
from ops.show.listing import lay_out_listings
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
from ops.topk.neuron_names import parse_pair

Facts = tuple[Any, Callable[[int], str]]

HEAD = "LAYER:HEAD, such as 4:2 (layers from 1, heads from 0)"
LINES = 5  # default number of lines in a list
SECONDS = 600.0  # maximum duration of a search


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
        if config.pole:
            query = query._replace(pole=config.pole)
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
