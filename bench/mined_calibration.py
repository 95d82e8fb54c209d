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
from ops.topk.neurons import POLES, Neurons, set_number

ANY, EXCESS = "whole description", "auc_excess"
FAMILIES = {"patterns": "kind", "profiles": "property"}
LIMITS = {"uniform": 0.07, "mild": 0.07, "few": 0.10}
RATE = 0.05
MILD, FEW = 0.5, 28  # the part of a score that documents share (mild); the number of documents (few)
AT_ONCE = 100  # sets mined together


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
    with_effects = tests_of(sentences, sets, options, seed)
    with ExitStack() as patches:
        patches.enter_context(patch("ops.mine.findings.design_effects", no_effect))
        patches.enter_context(patch("ops.mine.profile_rows.expected_effects", no_effect))
        without = tests_of(sentences, sets, options, seed)
    found = {}
    for name in sorted(pc.unique(with_effects["family"]).to_pylist()):
        own, other = (tests.filter(pc.field("family") == name) for tests in (with_effects, without))
        owner, q, lift = (own[column].to_numpy() for column in ("set", "q", "lift"))
        found[name] = owner, q < RATE, other["q"].to_numpy() < RATE, lift > 1
    return found


def no_effect(count: Any, *rest: Any) -> Float64s:
    """Return a design effect of 1 everywhere, as a replacement for the real one."""
    return np.ones(np.shape(count))


def tests_of(sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int) -> pa.Table:
    """Return the `family`, `set`, `q` and `lift` of every test, also as tests of the family of complete descriptions.

    Areas have no q: that of an interval above 0 counts as 0, and that of others as 1.
    """
    parts = []
    for first in range(0, len(sets), AT_ONCE):
        for table, rows in tables_of(sentences, sets[first : first + AT_ONCE], options, seed):
            if table == "scores":
                family = [EXCESS] * len(rows)
                q, lift = np.where(rows["auc_excess_low"].to_numpy() > 0, 0.0, 1.0), np.full(len(rows), 2.0)
            elif table in FAMILIES:
                family = [f"{table} {name}" for name in rows[FAMILIES[table]].to_pylist()]
                q, lift = (rows[name].cast(pa.float64()).to_numpy() for name in ("q_value", "lift"))
            else:
                continue
            pole = pc.index_in(rows["pole"], pa.array(POLES)).to_numpy().astype(np.int64)
            owner = set_number(rows["unit"].to_numpy().astype(np.int64), pole) + first
            parts.append(pa.table({"family": family, "set": owner, "q": q, "lift": lift}))
    found = pa.concat_tables(parts)
    tested = found.filter(pc.field("family") != EXCESS)
    q = description_rates(tested["q"].to_numpy(), tested["family"].to_numpy(), tested["set"].to_numpy())
    whole = {"family": [ANY] * len(tested), "set": tested["set"], "q": q, "lift": tested["lift"]}
    return pa.concat_tables([found, pa.table(whole)])


def tables_of(
    sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int
) -> Iterator[tuple[str, pa.Table]]:
    """Yield each table that `jobs.mine` writes for these sets, with set i as the neuron and pole with index i."""
    mining = Mining(sentences, Neurons((len(sets),)), options, seed)
    number, winners = np.arange(len(sets)), Sequences.from_lists([rows.tolist() for rows in sets])
    candidates = mining.candidates(number, winners)
    for table, groups in range_tables(mining, candidates).of(candidates, number, winners):
        several = list(groups)
        if several:
            yield table, pa.concat_tables(several)


def beyond_limits(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return the families and ways whose interval is above the limit."""
    return [
        f"{name}, {way}"
        for name, ways in found.items()
        for way, limit in LIMITS.items()
        if way in ways and ways[way]["low"] > limit
    ]
