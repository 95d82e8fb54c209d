"""Measures how often random sets of winners show a finding when they are mined, and what is kept of real findings.

Used by `python -m bench calibration`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from bench.mine import mining_options
from bench.score_calibration import range_tables
from jobs.run_folder.stages import PARTIALS
from ops.arrays import Bools, Float64s, Int64s, Integers
from ops.mine.mining import Mining
from ops.mine.null_sets import document_set, uniform_set
from ops.patterns.sequences import Sequences
from ops.sentences.store import SentenceStore
from ops.statistics.false_discovery import description_rates
from ops.statistics.wilson import wilson
from ops.storage.store import Store
from ops.tokens.peaks import peak_rows
from ops.tokens.range_tables import range_tables as token_tables
from ops.topk.neurons import POLES, Neurons, neuron_and_pole, read_neurons, set_number

ANY, EXCESS = "whole description", "auc_excess"
FAMILIES = {"patterns": "kind", "profiles": "property", "peaks": "property"}
LIMITS = {"uniform": 0.07, "mild": 0.07, "few": 0.10}
RATE, Z99 = 0.05, 2.5758293035489004
MILD, FEW = 0.5, 28  # the part of a score that documents share (mild); the number of documents (few)
AT_ONCE, PEAKS = 100, 20  # sets mined together; peaks of a set


@dataclass(frozen=True)
class Sets:
    """Sets of sentences that are treated like winners.

    Attributes:
        rows: the sentences of each set, ascending.
        peaks: returns the rows of `peaks/`, with set i as the neuron and pole with index i.
    """

    rows: list[Int64s]
    peaks: Callable[[], pa.Table]


def real_winners(store: Store, sentences: SentenceStore, count: int, seed: int) -> Sets:
    """Return the winners of randomly drawn neurons and poles."""
    neurons = read_neurons(store)
    mining = Mining(sentences, neurons, mining_options(no_scores=True), seed, draws=False)
    number, winners = mining.winners(store, 0, len(neurons))
    random = np.random.default_rng([seed, 1])
    chosen = np.sort(random.choice(len(winners), min(count, len(winners)), replace=False))
    rows = [winners.items[winners.offsets[i] : winners.offsets[i + 1]].astype(np.int64) for i in chosen]
    files = [file for file in store.table_files(f"{PARTIALS}/tokens") if "/shard-" in file]

    def peaks() -> pa.Table:
        table = pa.concat_tables(token_tables(store, files, neurons, 0, len(neurons))["peaks"])
        of = neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
        own = np.searchsorted(number[chosen], set_number(of, positions(table["pole"])))
        known = np.append(number[chosen], -1)[own] == set_number(of, positions(table["pole"]))
        return numbered(table.filter(pa.array(known)), own[known])

    return Sets(rows, peaks)


def random_peaks(sentences: SentenceStore, sets: list[Int64s], seed: int) -> pa.Table:
    """Return the rows of `peaks/` of random sets; some sentences of each set peak at a uniformly drawn word."""
    random = np.random.default_rng([seed, 3])
    rows = np.concatenate([random.permutation(own)[:PEAKS] for own in sets])
    own = np.repeat(np.arange(len(sets)), [min(len(some), PEAKS) for some in sets])
    lists = {}
    for name, found in (("word", sentences.words(rows)), ("tag", sentences.tags(rows))):
        items = pa.array(list(sentences.names[name]), pa.string()).take(pa.array(found.items))
        lists[name] = pa.ListArray.from_arrays(pa.array(found.offsets.astype(np.int32)), items)
    lengths = sentences.lengths(rows)
    at = np.where(lengths > 0, random.integers(np.maximum(lengths, 1)), -1).astype(np.int32)
    documents = np.asarray(sentences.doc[rows], np.int64)
    return peak_rows(Neurons((len(sets),)), own, lists["word"], lists["tag"], at, documents)


def numbered(table: pa.Table, own: Int64s) -> pa.Table:
    """Return rows of a table with set i as the neuron and pole with index i."""
    neuron, pole = neuron_and_pole(own)
    named = {"unit": pa.array(neuron), "pole": pa.array(POLES).take(pa.array(pole))}
    for name, column in named.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def few_documents_set(documents: Integers, size: int, most: int, random: np.random.Generator) -> Int64s:
    """Draw a set of `size` sentences, as ascending indices, from all sentences of `most` random documents.

    If these documents have too few sentences, more documents are drawn until there are enough.

    Args:
        documents: the code of each sentence's document, counted from 0, `[sentences]`.
        size: number of sentences in the set; if there are fewer, all are returned.
        most: number of documents to draw.
        random: the random generator that makes the draws.
    """
    of_document = np.bincount(documents)
    order = random.permutation(np.flatnonzero(of_document))
    enough = int(np.searchsorted(np.cumsum(of_document[order]), size)) + 1
    chosen = np.zeros(len(of_document), np.bool_)
    chosen[order[: max(most, enough)]] = True
    rows = np.flatnonzero(chosen[documents])
    return np.sort(random.choice(rows, min(size, len(rows)), replace=False)).astype(np.int64)


def calibrate(
    sentences: SentenceStore, real: Sets, sets: int, k: int, seed: int, **options: Any
) -> dict[str, dict[str, Any]]:
    """Return the shares of findings in random sets and in real winners, for each family of tests.

    Args:
        sentences: all annotated sentences, from which random sets are drawn.
        real: the winners of real neurons and poles.
        sets: number of random sets that are drawn in each way.
        k: number of sentences in a random set.
        seed: the seed of all random draws.
        options: the options of `jobs.mine` that differ from the defaults.
    """
    documents = np.asarray(sentences.doc)
    ways = {
        "uniform": partial(uniform_set, len(documents), k),
        "mild": partial(document_set, documents, k, MILD),
        "few": partial(few_documents_set, documents, k, FEW),
    }
    given = mining_options(no_scores=False) | options
    found: dict[str, dict[str, Any]] = {}
    for number, (way, drawn) in enumerate(ways.items()):
        random = np.random.default_rng([seed, 2, number])
        rows = [drawn(random) for _ in range(sets)]
        own = Sets(rows, partial(random_peaks, sentences, rows, seed + number))
        for name, findings in mined(sentences, own, given, seed).items():
            hits = len(np.unique(findings.owner[findings.sure]))
            by_sentence = len(np.unique(findings.owner[findings.sure_by_sentence]))
            _, low, high = wilson(hits / sets, sets, Z99)
            rates = {"share": hits / sets, "low": low, "high": high, "by_sentence": by_sentence / sets}
            found.setdefault(name, {})[way] = rates
    for name, findings in mined(sentences, real, given, seed).items():
        before = findings.sure_by_sentence & findings.preferred
        found.setdefault(name, {})["real"] = {
            "share": len(np.unique(findings.owner[findings.sure])) / len(real.rows),
            "by_sentence": len(np.unique(findings.owner[findings.sure_by_sentence])) / len(real.rows),
            "findings": int((findings.sure & findings.preferred).sum()),
            "findings_by_sentence": int(before.sum()),
            "kept": int((findings.sure & before).sum()),
        }
    return found


@dataclass(frozen=True)
class Findings:
    """The rows of one family of tests for all sets.

    Attributes:
        owner: the index of each row's set, `[rows]`.
        sure: whether q is below `RATE`.
        sure_by_sentence: whether q is below `RATE` without design effects.
        preferred: whether the lift is above 1.
    """

    owner: Int64s
    sure: Bools
    sure_by_sentence: Bools
    preferred: Bools


def mined(sentences: SentenceStore, sets: Sets, options: dict[str, Any], seed: int) -> dict[str, Findings]:
    """Mine sets of sentences as winners, with and without design effects, and return the findings of each family."""
    with_effects = families(sentences, sets, options, seed)
    with ExitStack() as patches:
        patches.enter_context(patch("ops.mine.findings.design_effects", no_effect))
        patches.enter_context(patch("ops.mine.profile_rows.expected_effects", no_effect))
        patches.enter_context(patch("ops.tokens.peaks.effects_of_residuals", lambda *given: no_effect(given[-1])))
        without = families(sentences, sets, options, seed)
    return {
        name: Findings(owner, q < RATE, without[name][1] < RATE, lift > 1)
        for name, (owner, q, lift) in with_effects.items()
    }


def no_effect(count: Any, *rest: Any) -> Float64s:
    """Return a design effect of 1 everywhere, as a replacement for the real one."""
    return np.ones(np.shape(count))


Rows = tuple[Int64s, Float64s, Float64s]  # the set, q and lift of each row


def families(sentences: SentenceStore, sets: Sets, options: dict[str, Any], seed: int) -> dict[str, Rows]:
    """Return the rows of each family of tests; the family of complete descriptions comes last."""
    found: dict[str, list[Rows]] = {}
    for first in range(0, len(sets.rows), AT_ONCE):
        for table, rows in tables_of(sentences, sets.rows[first : first + AT_ONCE], options, seed):
            add_rows(found, table, rows, first)
    add_rows(found, "peaks", sets.peaks(), 0)
    whole = {name: concatenated(parts) for name, parts in sorted(found.items())}
    tested = {name: rows for name, rows in whole.items() if name != EXCESS}
    owner, q, lift = concatenated(list(tested.values()))
    family = np.repeat(list(tested), [len(rows[0]) for rows in tested.values()])
    return {**whole, ANY: (owner, description_rates(q, family, owner), lift)}


def add_rows(found: dict[str, list[Rows]], table: str, rows: pa.Table, first: int) -> None:
    """Add a table's rows to those of each of its families; the neuron and pole with index 0 are set `first`."""
    owner = set_number(rows["unit"].to_numpy().astype(np.int64), positions(rows["pole"])) + first
    if table == "scores":
        low = rows["auc_excess_low"].to_numpy()
        found.setdefault(EXCESS, []).append((owner, np.where(low > 0, 0.0, 1.0), np.full(len(owner), 2.0)))
    if table not in FAMILIES:
        return
    names = rows[FAMILIES[table]].to_numpy()
    q, lift = (rows[name].to_numpy().astype(np.float64) for name in ("q_value", "lift"))
    for name in np.unique(names):
        own = names == name
        found.setdefault(f"{table} {name}", []).append((owner[own], q[own], lift[own]))


def concatenated(parts: list[Rows]) -> Rows:
    """Return the concatenated rows of all parts."""
    owner, q, lift = (np.concatenate(column) for column in zip(*parts, strict=True))
    return owner, q, lift


def positions(poles: pa.ChunkedArray) -> Int64s:
    """Return the index in `POLES` of each pole."""
    return np.array([POLES.index(pole) for pole in poles.to_pylist()], np.int64)


def tables_of(
    sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int
) -> Iterator[tuple[str, pa.Table]]:
    """Yield each table that `jobs.mine` writes for these sets, with set i as the neuron and pole with index i."""
    mining = Mining(sentences, Neurons((len(sets),)), options, seed)
    number = np.arange(len(sets))
    lengths = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    winners = Sequences(np.concatenate(sets).astype(np.int32), lengths)
    candidates = mining.candidates(number, winners)
    for table, groups in range_tables(mining, candidates).of(candidates, number, winners):
        several = list(groups)
        if several:
            yield table, pa.concat_tables(several)


def beyond(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return the families and ways whose interval is above the limit."""
    return [
        f"{name}, {way}"
        for name, ways in found.items()
        for way, limit in LIMITS.items()
        if way in ways and ways[way]["low"] > limit
    ]


def layout(found: dict[str, dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = ["| family | uniform | mild | few | real | findings kept |", "|---|---|---|---|---|---|"]
    for name, ways in found.items():
        cells = [name]
        for way in (*LIMITS, "real"):
            own = ways.get(way)
            cells.append("" if own is None else f"{own['share']:.1%} ({own['by_sentence']:.1%})")
        real = ways.get("real")
        cells.append("" if real is None else f"{real['kept']:,} of {real['findings_by_sentence']:,}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
