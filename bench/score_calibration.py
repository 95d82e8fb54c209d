"""Measures the held-out scores of sets of sentences that have nothing in common except, at most, their length.

Used by `python -m bench calibration`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from ops.statistics.wilson import wilson

SETS_AT_ONCE = 128
MOST_EXCESS = 0.01  # maximum distance from 0 of the mean over sets
COVERED = (0.93, 0.97)
_Z99 = 2.5758293035489004


@dataclass(frozen=True)
class ScoreRow:
    """The scores of random sets that were drawn in one way.

    Attributes:
        null: how the sets were drawn: `uniform`, or the length of their sentences, such as `12 to 15 words`.
        sets: number of sets that have an `auc_excess`.
        auc, matched: the mean area under the curve of the sets, and of their matched sets.
        excess, excess_low, excess_high: the mean `auc_excess` and its 99 % interval.
        covered, covered_low, covered_high: the share of the 95 % intervals that contain 0, and its 95 % interval.
        ok: whether both are within their targets, as far as the intervals can tell.
    """

    null: str
    sets: int
    auc: float
    matched: float
    excess: float
    excess_low: float
    excess_high: float
    covered: float
    covered_low: float
    covered_high: float
    ok: bool


def score_rows(mining: Mining, size: int, uniform: int, each_length: int, lengths: int, seed: int) -> list[ScoreRow]:
    """Return the row of uniform sets, followed by a row for the sets of each range of lengths.

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


def _row(null: str, scores: Float64s) -> ScoreRow:
    auc, matched, excess, low, high = scores[~np.isnan(scores[:, 2]), :5].T
    count = len(excess)
    mean, error = float(excess.mean()), float(excess.std(ddof=1)) / np.sqrt(count)
    ends = mean - _Z99 * error, mean + _Z99 * error
    covered = float(((low <= 0) & (high >= 0)).mean())
    held = wilson(covered, count)
    ok = ends[0] <= MOST_EXCESS and ends[1] >= -MOST_EXCESS
    if null == "uniform":
        ok = ok and held.high >= COVERED[0] and held.low <= COVERED[1]
    interval = (held.low, held.high)
    return ScoreRow(null, count, float(auc.mean()), float(matched.mean()), mean, *ends, covered, *interval, bool(ok))
