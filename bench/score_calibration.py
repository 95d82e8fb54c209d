"""Measures the held-out scores of sets of sentences that have nothing in common except, at most, their length.

Used by `python -m bench calibration`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Float64s, Int64s
from ops.mine.baseline_counts import BlockCounter, add_up
from ops.mine.candidates import unite
from ops.mine.mining import Mining
from ops.mine.properties import Profiler
from ops.mine.range_tables import RangeTables
from ops.patterns.sequences import Sequences
from ops.shards import spans
from ops.statistics.interval import wilson

SETS_AT_ONCE = 128
MOST_EXCESS = 0.01  # maximum distance from 0 of the mean over sets
COVERED = (0.93, 0.97)
Z99 = 2.5758293035489004


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
    for first, stop in spans(len(sets), SETS_AT_ONCE):
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
