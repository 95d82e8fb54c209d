"""Counts of every candidate pattern and of every property's values in the baseline sample."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from ops.arrays import Int64s
from ops.mine.candidates import from_keys
from ops.mine.pattern_kinds import PatternKind
from ops.mine.properties import Profiler
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences
from ops.reducers.integer_sums import Sums

# The two halves of the baseline's documents are counted separately. Patterns are compared with both together, and what
# is learned for held-out scores only with the half from which it is learned.
PARTS = ("first", "second")


@dataclass(frozen=True)
class BaselineValues:
    """How often each value of a property occurs: `count int64 [n_values]` out of `n`.

    `squares` and `products [n_values]` and `n_squares` are those of `ops.mine.value_counts.ValueCounts`. They are not
    stored for a property whose rare values are omitted.
    """

    count: Int64s
    n: int
    squares: Int64s
    products: Int64s
    n_squares: int


@dataclass(frozen=True)
class Baseline:
    """The baseline's counts.

    Attributes:
        counts: number of the baseline's sentences with each candidate, for each kind.
        values: the values of each property, in the order of the profiler's properties.
        sums: the sums from which means are computed, by name.
    """

    sentences: int
    index: dict[str, SequenceTrie]
    counts: dict[str, Int64s]
    values: list[BaselineValues]
    sums: dict[str, Sums]

    def support(self, kind: str, patterns: Sequences) -> Int64s:
        """Return the number of baseline sentences with each of these candidates of a kind, `[patterns]`."""
        if not len(patterns):
            return np.zeros(0, np.int64)
        return self.counts[kind][self.index[kind].find(patterns)]


class BlockCounter:
    """Counts all candidates, united by `ops.mine.candidates.unite`, and properties in blocks of the baseline's rows."""

    def __init__(self, union: pa.Table, kinds: Mapping[str, PatternKind], profiler: Profiler) -> None:
        patterns = _by_kind(union, kinds)
        self._profiler, self._lines = profiler, _lines(patterns, profiler)
        self._counters = {name: kinds[name].counter(own) for name, own in patterns.items()}

    def count(self, parts: Sequence[Int64s]) -> pa.Table:
        """Return the counts that are not 0, with the columns `line` and those of `PARTS`, and the last line.

        A line is a count of one candidate, value or sum. There is a line for every word of the corpus, and most of
        these words do not occur in the given rows. The time does not depend on the number of words that do not occur.
        """
        found = [[np.concatenate(column) for column in zip(*self._counted(rows), strict=True)] for rows in parts]
        last = max(lines.stop for lines in self._lines.values()) - 1
        every = np.unique(np.concatenate([[last], *(line for line, _ in found)]))
        columns = [every]
        for line, count in found:
            columns.append(np.zeros(len(every), np.int64))
            columns[-1][np.searchsorted(every, line)] = count
        return pa.table(columns, names=["line", *PARTS])

    def _counted(self, rows: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield lines and their counts."""
        profiler = self._profiler
        dense: dict[str, ArrayLike] = {"sentences": [len(rows)]}
        dense |= {f"pattern:{kind}": count(rows) for kind, count in self._counters.items()}
        dense |= {f"sums:{name}": [sums.n, sums.total, sums.squares] for name, sums in profiler.sums(rows).items()}
        for number, (own, found) in enumerate(zip(profiler.properties, profiler.count(rows), strict=True)):
            dense[f"n:{number}"] = [found.n[0], found.n_squares[0]]
            for name in ("support",) if own.rare_left_out else ("support", "squares", "products"):
                yield self._lines[f"{name}:{number}"].start + found.value, found.counts[name]
        for name, numbers in dense.items():
            counts = np.asarray(numbers, np.int64)
            yield self._lines[name].start + np.flatnonzero(counts), counts[counts != 0]


def _by_kind(union: pa.Table, kinds: Iterable[str]) -> dict[str, Sequences]:
    return {kind: from_keys(union["key"].filter(pc.equal(union["kind"], kind))) for kind in kinds}


def _lines(patterns: Mapping[str, Sequences], profiler: Profiler) -> dict[str, slice]:
    """Return the lines of each sort of counts; candidates of ranges and properties determine them."""
    sizes = {"sentences": 1, **{f"pattern:{kind}": len(own) for kind, own in patterns.items()}}
    for number, own in enumerate(profiler.properties):
        each = 0 if own.rare_left_out else len(own.values)
        sizes |= {f"support:{number}": len(own.values), f"squares:{number}": each, f"products:{number}": each}
        sizes[f"n:{number}"] = 2
    sizes |= {f"sums:{name}": 3 for name in profiler.numbers}
    starts = np.cumsum([0, *sizes.values()]).tolist()
    return {name: slice(start, start + size) for (name, size), start in zip(sizes.items(), starts, strict=False)}


def add_up(tables: Iterable[pa.Table]) -> pa.Table:
    """Add up the counts of several blocks, and return the columns of `PARTS` with a row for each line."""
    totals = np.zeros((len(PARTS), 0), np.int64)
    for table in tables:
        line = table["line"].to_numpy()
        if not totals.size:
            totals = np.zeros((len(PARTS), line[-1] + 1), np.int64)
        totals[:, line] += np.stack([table[part].to_numpy() for part in PARTS])
    return pa.table(list(totals), names=PARTS)


def read_baselines(
    union: pa.Table, kinds: Iterable[str], profiler: Profiler, totals: pa.Table
) -> tuple[Baseline, list[Baseline]]:
    """Return the counts over the complete baseline, and those over each of its `PARTS`.

    `totals` are the result of `add_up`, and the other arguments those of the `BlockCounter` that counted.
    """
    patterns = _by_kind(union, kinds)
    lines, index = _lines(patterns, profiler), {kind: SequenceTrie.build(some) for kind, some in patterns.items()}
    parts = [totals[part].to_numpy() for part in PARTS]

    def baseline(total: Int64s) -> Baseline:
        counts = {name: total[span] for name, span in lines.items()}
        values = []
        for number in range(len(profiler.properties)):
            count, squares, products = (counts[f"{name}:{number}"] for name in ("support", "squares", "products"))
            n, n_squares = counts[f"n:{number}"].tolist()
            values.append(BaselineValues(count, n, squares, products, n_squares))
        sums = {name: Sums(*counts[f"sums:{name}"].tolist()) for name in profiler.numbers}
        return Baseline(int(total[0]), index, {kind: counts[f"pattern:{kind}"] for kind in index}, values, sums)

    return baseline(np.sum(parts, 0)), [baseline(part) for part in parts]
