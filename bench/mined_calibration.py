"""Measures how often random sets of winners show a finding when they are mined, and what is kept of real findings.

Used by `python -m bench calibration`.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.made_run import mining_options
from bench.score_calibration import Z99, range_tables
from ops.arrays import Bools, Float64s, Int64s, Integers
from ops.mine.mining import Mining
from ops.mine.null_sets import document_set, uniform_set
from ops.patterns.sequences import Sequences
from ops.sentences.store import SentenceStore
from ops.statistics.false_discovery import description_rates
from ops.statistics.interval import wilson
from ops.storage.store import Store
from ops.topk.neurons import POLES, Neurons, read_neurons, set_number

ANY, EXCESS = "whole description", "auc_excess"
FAMILIES = {"patterns": "kind", "profiles": "property"}
LIMITS = {"uniform": 0.07, "mild": 0.07, "few": 0.10}
RATE = 0.05
MILD, FEW = 0.5, 28  # the part of a score that documents share (mild); the number of documents (few)
AT_ONCE = 100  # sets mined together


def real_winners(store: Store, sentences: SentenceStore, count: int, seed: int) -> list[Int64s]:
    """Return the rows of the winners of randomly drawn neurons and poles, ascending."""
    neurons = read_neurons(store)
    mining = Mining(sentences, neurons, mining_options(no_scores=True), seed, draws=False)
    winners = mining.winners(store, 0, len(neurons))[1].to_arrays()
    chosen = np.random.default_rng([seed, 1]).choice(len(winners), min(count, len(winners)), replace=False)
    return [winners[i].astype(np.int64) for i in np.sort(chosen)]


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
    sentences: SentenceStore, real: list[Int64s], sets: int, k: int, seed: int, **options: Any
) -> dict[str, dict[str, Any]]:
    """Return the shares of findings in random sets and in real winners, for each family of tests.

    Args:
        sentences: all annotated sentences, from which random sets are drawn.
        real: the winners of real neurons and poles, each as ascending rows.
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
        for name, (owner, sure, by_sentence, _) in mined(sentences, rows, given, seed).items():
            share, low, high = wilson(len(np.unique(owner[sure])) / sets, sets, Z99)
            rates = {"share": share, "low": low, "high": high, "by_sentence": share_of(owner[by_sentence], rows)}
            found.setdefault(name, {})[way] = rates
    for name, (owner, sure, by_sentence, preferred) in mined(sentences, real, given, seed).items():
        found.setdefault(name, {})["real"] = {
            "share": share_of(owner[sure], real),
            "by_sentence": share_of(owner[by_sentence], real),
            "findings": int((sure & preferred).sum()),
            "findings_by_sentence": int((by_sentence & preferred).sum()),
            "kept": int((sure & by_sentence & preferred).sum()),
        }
    return found


def share_of(owners: Int64s, sets: list[Int64s]) -> float:
    """Return the share of the sets that are among these owners of findings."""
    return len(np.unique(owners)) / len(sets)


def mined(
    sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int
) -> dict[str, tuple[Int64s, Bools, Bools, Bools]]:
    """Mine sets of sentences as winners, with and without design effects.

    Returns:
        For each family of tests, `[rows]` each: the index of the row's set, whether q is below `RATE`, whether it is
        below `RATE` without design effects, and whether the lift is above 1.
    """
    with_effects = families(sentences, sets, options, seed)
    with ExitStack() as patches:
        patches.enter_context(patch("ops.mine.findings.design_effects", no_effect))
        patches.enter_context(patch("ops.mine.profile_rows.expected_effects", no_effect))
        without = families(sentences, sets, options, seed)
    return {
        name: (owner, q < RATE, without[name][1] < RATE, lift > 1) for name, (owner, q, lift) in with_effects.items()
    }


def no_effect(count: Any, *rest: Any) -> Float64s:
    """Return a design effect of 1 everywhere, as a replacement for the real one."""
    return np.ones(np.shape(count))


Rows = tuple[Int64s, Float64s, Float64s]  # the set, q and lift of each row


def families(sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int) -> dict[str, Rows]:
    """Return the rows of each family of tests; the family of complete descriptions comes last."""
    found: dict[str, list[Rows]] = {}
    for first in range(0, len(sets), AT_ONCE):
        for table, rows in tables_of(sentences, sets[first : first + AT_ONCE], options, seed):
            pole = pc.index_in(rows["pole"], pa.array(POLES)).to_numpy().astype(np.int64)
            owner = set_number(rows["unit"].to_numpy().astype(np.int64), pole) + first
            for name, own, q, lift in tests_of(table, rows):
                found.setdefault(name, []).append((owner[own], q, lift))
    every = {name: concatenated(parts) for name, parts in sorted(found.items())}
    tested = {name: rows for name, rows in every.items() if name != EXCESS}
    owner, q, lift = concatenated(list(tested.values()))
    family = np.repeat(list(tested), [len(rows[0]) for rows in tested.values()])
    return {**every, ANY: (owner, description_rates(q, family, owner), lift)}


def tests_of(table: str, rows: pa.Table) -> Iterator[tuple[str, Bools, Float64s, Float64s]]:
    """Yield each family of tests of a table: its name, which rows are in it, and their q and lift."""
    if table == "scores":
        low = rows["auc_excess_low"].to_numpy()
        yield EXCESS, np.ones(len(low), np.bool_), np.where(low > 0, 0.0, 1.0), np.full(len(low), 2.0)
    if table in FAMILIES:
        names = rows[FAMILIES[table]].to_numpy()
        q, lift = (rows[name].to_numpy().astype(np.float64) for name in ("q_value", "lift"))
        for name in np.unique(names):
            own = names == name
            yield f"{table} {name}", own, q[own], lift[own]


def concatenated(parts: list[Rows]) -> Rows:
    """Return the concatenated rows of all parts."""
    owner, q, lift = (np.concatenate(column) for column in zip(*parts, strict=True))
    return owner, q, lift


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
        cells = ["{share:.1%} ({by_sentence:.1%})".format(**ways[way]) for way in (*LIMITS, "real") if way in ways]
        kept = "{kept:,} of {findings_by_sentence:,}".format(**ways["real"]) if "real" in ways else ""
        lines.append(f"| {' | '.join([name, *cells, kept])} |")
    return "\n".join(lines)
