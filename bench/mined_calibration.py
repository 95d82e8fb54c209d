"""Measures what random sets of winners show when they are mined: findings, next to those of real winners, and scores.

Used by `python -m bench calibration`.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.made_run import mining_options
from ops.arrays import Bools, Float64s, Int64s, Integers
from ops.mine.baseline_counts import BlockCounter, add_up
from ops.mine.candidates import unite
from ops.mine.mining import Mining
from ops.mine.null_sets import document_set, uniform_set
from ops.mine.properties import Profiler
from ops.mine.range_tables import RangeTables
from ops.patterns.sequences import Sequences
from ops.sentences.store import SentenceStore
from ops.shards import spans
from ops.statistics.false_discovery import description_rates
from ops.statistics.interval import wilson
from ops.topk.neurons import POLES, Neurons, set_number

ANY, EXCESS = "whole description", "auc_excess"
FAMILIES = {"patterns": "kind", "profiles": "property"}
LIMITS = {"uniform": 0.07, "mild": 0.07, "few": 0.10}
RATE = 0.05
MILD, FEW = 0.5, 28  # the part of a score that documents share (mild); the number of documents (few)
AT_ONCE = 100  # sets mined together
MOST_EXCESS = 0.01  # maximum distance from 0 of the mean over sets
COVERED = (0.93, 0.97)
Z99 = 2.5758293035489004


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
        patches.enter_context(patch("ops.mine.findings.expected_effects", no_effect))
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
    for first, stop in spans(len(sets), AT_ONCE):
        for table, rows in tables_of(sentences, sets[first:stop], options, seed):
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


def score_rows(
    mining: Mining, size: int, uniform: int, each_length: int, lengths: int, seed: int
) -> list[dict[str, Any]]:
    """Return a row about uniform sets, followed by a row about the sets of each range of lengths.

    Args:
        mining: the annotated sentences, all in the baseline, with options that include scores.
        size: number of sentences in a set.
        uniform: number of sets that are drawn uniformly from all sentences.
        each_length: number of sets that are drawn from the sentences of each range of lengths.
        lengths: number of ranges of lengths, with the same number of sentences in each. There are fewer ranges if a
            range would have fewer than twice `size` sentences.
        seed: the seed of the draws.
    """
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(mining.sentences.baseline)
    by_null = {"uniform": [np.sort(rng.choice(rows, size, replace=False)) for _ in range(uniform)]}
    words = mining.sentences.lengths(rows)
    ascending = rows[np.lexsort((rng.random(len(rows)), words))]
    for part in np.array_split(ascending, max(min(lengths, len(rows) // (2 * size)), 1)):
        first, last = np.sort(mining.sentences.lengths(part))[[0, -1]]
        drawn = [np.sort(rng.choice(part, size, replace=False)) for _ in range(each_length)]
        by_null.setdefault(f"{first} to {last} words", []).extend(drawn)
    return [
        _row(null, np.concatenate(list(null_scores(mining, sets, np.arange(len(sets))))))
        for null, sets in by_null.items()
        if sets
    ]


def null_scores(mining: Mining, sets: Sequence[Int64s], numbers: Int64s) -> Iterator[Float64s]:
    """Yield `auc`, `matched_auc`, and `auc_excess` and `auc` with their ends, for sets treated as winners, `[sets, 7]`.

    Args:
        mining: the annotated sentences, with options that include scores.
        sets: the rows of each set, ascending.
        numbers: the set number of each set, ascending.
    """
    names = ("auc", "matched_auc", "auc_excess", "auc_excess_low", "auc_excess_high", "auc_low", "auc_high")
    for first, stop in spans(len(sets), AT_ONCE):
        number = numbers[first:stop]
        winners = Sequences.from_lists([rows.tolist() for rows in sets[first:stop]])
        candidates = mining.candidates(number, winners)
        tables = range_tables(mining, candidates)
        if mining.held_out is None:
            raise ValueError("null_scores: the options leave the scores out")
        scores = tables.scores(candidates, number, mining.held_out.draw(number, winners))
        yield np.stack([scores[name].to_numpy() for name in names], 1)


def range_tables(mining: Mining, candidates: pa.Table) -> RangeTables:
    """Return what compares candidates with the baseline, as if there were no others."""
    union, halves = unite([candidates]), mining.baseline_rows(0, len(mining.half))
    return RangeTables(mining, union, add_up([BlockCounter(union, mining.kinds, Profiler(mining.text)).count(halves)]))


def _row(null: str, scores: Float64s) -> dict[str, Any]:
    """Return the means over sets, the share of intervals that contain 0, and whether both are within their targets."""
    auc, matched, excess, low, high = scores[~np.isnan(scores[:, 2]), :5].T
    count, mean = len(excess), float(excess.mean())
    error = Z99 * float(excess.std(ddof=1)) / np.sqrt(count)
    covered, covered_low, covered_high = wilson(float(((low <= 0) & (high >= 0)).mean()), count)
    ok = abs(mean) - error <= MOST_EXCESS
    if null == "uniform":
        ok = ok and covered_high >= COVERED[0] and covered_low <= COVERED[1]
    return {
        "null": null,
        "sets": count,
        "auc": float(auc.mean()),
        "matched": float(matched.mean()),
        "excess": mean,
        "excess_low": mean - error,
        "excess_high": mean + error,
        "covered": covered,
        "covered_low": covered_low,
        "covered_high": covered_high,
        "ok": bool(ok),
    }
