"""The rows of `means/`: numeric properties of several sets of winners, compared with the baseline."""

from operator import itemgetter

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Int64s
from ops.mine.baseline_counts import Baseline
from ops.mine.findings import without_neuron
from ops.mine.properties import Profiler
from ops.mine.sentence_sets import SentenceSets, sums_of_sets
from ops.reducers.integer_sums import Sums


def mean_rows(profiler: Profiler, baseline: Baseline, sets: SentenceSets) -> tuple[Int64s, pa.Table]:
    """Return the means of sets of winners, sorted by set and property.

    The result is the index of each row's set, and all columns of `means/` except those of the neuron.
    """
    selection, rows = profiler.select(sets.rows), []
    every, inside = np.ones(len(sets.rows), np.int64), sets.in_baseline.astype(np.int64)
    for name in sorted(profiler.numbers):
        numbers = np.asarray(profiler.numbers[name](selection), np.int64)
        both = zip(_sums(numbers, every, sets), _sums(numbers, inside, sets), strict=True)
        for number, (winners, shared) in enumerate(both):
            other = baseline.sums[name].without(shared)
            row = {"set": number, "property": name, "n": winners.n, "mean": winners.mean, "std": winners.std}
            rows.append(row | {"baseline_mean": other.mean, "baseline_std": other.std})
    rows.sort(key=itemgetter("set"))
    return np.array([row["set"] for row in rows], np.int64), schema.table(without_neuron("means"), rows)


def _sums(numbers: Int64s, counted: Int64s, sets: SentenceSets) -> list[Sums]:
    """Return the sums of the numbers of those sentences of each set for which `counted` is 1."""
    columns = [
        sums_of_sets(column * counted, sets.members).tolist() for column in (np.ones_like(numbers), numbers, numbers**2)
    ]
    return [Sums(*sums) for sums in zip(*columns, strict=True)]
