"""Counts of every candidate pattern and of every property's values in the baseline sample."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.mine.candidates import from_keys
from ops.mine.pattern_kinds import PatternKind
from ops.mine.properties import Profiler
from ops.mine.value_counts import ValueCounts
from ops.patterns.pattern_index import PatternIndex
from ops.patterns.sequences import Sequences
from ops.reducers.integer_sums import Sums

# For each kind, its candidates as keys, and a function that counts, for each candidate, the given rows that have it.
Counters = dict[str, tuple[pa.Array, Callable[[Int64s], Int64s]]]

# The baseline's training and test documents are counted separately. Patterns are compared with both parts, but held-out
# scores only with the training part.
PARTS = ("training", "test")


@dataclass(frozen=True)
class Baseline:
    """The baseline's counts.

    Attributes:
        sentences: number of sentences of the baseline.
        index: the candidates of each kind that has any.
        counts: number of the baseline's sentences with each candidate, for each kind.
        values: the values of each property, in the order of the profiler's properties.
        sums: the sums from which means are computed, by name.
    """

    sentences: int
    index: dict[str, PatternIndex]
    counts: dict[str, Int64s]
    values: list[ValueCounts]
    sums: dict[str, Sums]

    def support(self, kind: str, patterns: Sequences) -> Int64s:
        """Return the number of baseline sentences with each of these candidates of a kind, `[patterns]`."""
        if not len(patterns):
            return np.zeros(0, np.int64)
        return self.counts[kind][self.index[kind].find(patterns)]


def counters(union: pa.Table, kinds: Mapping[str, PatternKind]) -> Counters:
    """Return each kind's candidates and a function that counts them, given the result of `candidates.unite`."""
    patterns = {}
    for name, kind in kinds.items():
        keys = union["key"].filter(pc.equal(union["kind"], name)).combine_chunks()
        patterns[name] = (keys, kind.counter(from_keys(keys)))
    return patterns


def baseline_table(patterns: Counters, profiler: Profiler, parts: Sequence[Int64s]) -> pa.Table:
    """Return the counts over some of the baseline's rows, with the columns `what`, `key` and those of `PARTS`.

    Counts over other rows have the same lines, so counts over disjoint rows can be added up line by line.

    Args:
        patterns: each kind's candidates and the function that counts them, as `counters` returns them.
        profiler: counts the properties.
        parts: the rows of each of `PARTS`.
    """
    runs = [list(_runs(patterns, profiler, rows)) for rows in parts]
    what = pa.chunked_array([pa.array([run.what] * run.lines, pa.string()) for run in runs[0]])
    none = pa.array([b""])
    keys = [none.take(pa.array(np.zeros(run.lines, np.int8))) if run.keys is None else run.keys for run in runs[0]]
    counts = []
    for own in runs:
        line, count = _not_zero(own)
        counts.append(np.zeros(len(what), np.int64))
        counts[-1][line] = count
    return pa.table([what, pa.chunked_array(keys), *map(pa.array, counts)], names=["what", "key", *PARTS])


def few_counts(patterns: Counters, profiler: Profiler, parts: Sequence[Int64s]) -> pa.Table:
    """Return the lines of `baseline_table` that are not 0, with the columns `line` and those of `PARTS`.

    The table has a line for every word of the corpus, and most of these words do not occur in the given rows. The time
    does not depend on the number of words that do not occur.

    Args:
        patterns, profiler, parts: the arguments of `baseline_table`.
    """
    found = [_not_zero(_runs(patterns, profiler, rows)) for rows in parts]
    every = np.unique(np.concatenate([line for line, _ in found]))
    counts = []
    for line, count in found:
        counts.append(np.zeros(len(every), np.int64))
        counts[-1][np.searchsorted(every, line)] = count
    return pa.table([pa.array(every), *map(pa.array, counts)], names=["line", *PARTS])


@dataclass(frozen=True)
class _Run:
    """Consecutive lines of a `baseline_table` with the same name.

    Attributes:
        what: the name of all these lines.
        keys: the key of each line; None if lines are identified by their order.
        lines: number of lines.
        place, count: the indices of the lines that are not 0, ascending, and their counts.
    """

    what: str
    keys: pa.Array | None
    lines: int
    place: Int64s
    count: Int64s

    @classmethod
    def of(cls, what: str, counts: Int64s, keys: pa.Array | None = None) -> "_Run":
        place = np.flatnonzero(counts)
        return cls(what, keys, len(counts), place, counts[place])


def _runs(patterns: Counters, profiler: Profiler, rows: Int64s) -> Iterator[_Run]:
    yield _Run.of("sentences", np.array([len(rows)]))
    for kind, (keys, count) in patterns.items():
        yield _Run.of(f"pattern:{kind}", count(rows), keys)
    for number, (own, found) in enumerate(zip(profiler.properties, profiler.count(rows), strict=True)):
        yield _Run(f"values:{number}", None, len(own.values), found.value, found.count)
        yield _Run.of(f"n:{number}", np.array([found.n, found.n_squares]))
        if not own.rare_left_out:
            yield _Run(f"squares:{number}", None, len(own.values), found.value, found.squares)
            yield _Run(f"products:{number}", None, len(own.values), found.value, found.products)
    for name, sums in profiler.sums(rows).items():
        yield _Run.of(f"sums:{name}", np.array([sums.n, sums.total, sums.squares]))


def _not_zero(runs: Iterable[_Run]) -> tuple[Int64s, Int64s]:
    """Return the indices of the lines that are not 0, ascending, over all runs one after another, and their counts."""
    lines, counts, first = [], [], 0
    for run in runs:
        lines.append(first + run.place)
        counts.append(run.count)
        first += run.lines
    return np.concatenate(lines), np.concatenate(counts)


def read_baselines(table: pa.Table, profiler: Profiler) -> tuple[Baseline, Baseline]:
    """Return the counts in a `baseline_table`: those of the complete baseline, and those of its training part.

    Args:
        table: the table.
        profiler: a profiler with the same properties as the one that counted.
    """
    whole = table.combine_chunks()
    names = whole["what"].combine_chunks().dictionary_encode()
    codes = names.indices.to_numpy()
    starts = np.searchsorted(codes, np.arange(len(names.dictionary) + 1))
    # The lines with the same name are consecutive.
    lines = {name: slice(starts[i], starts[i + 1]) for i, name in enumerate(names.dictionary.to_pylist())}
    keys = whole["key"].combine_chunks()
    kinds = [name.removeprefix("pattern:") for name in lines if name.startswith("pattern:")]
    index = {kind: PatternIndex(from_keys(keys[lines[f"pattern:{kind}"]])) for kind in kinds}
    training, test = (whole[part].to_numpy() for part in PARTS)
    both = _baseline(lines, training + test, index, len(profiler.properties))
    return both, _baseline(lines, training, index, len(profiler.properties))


def _baseline(lines: dict[str, slice], count: Int64s, index: dict[str, PatternIndex], properties: int) -> Baseline:
    none = slice(0, 0)

    def values_of(number: int) -> ValueCounts:
        by_value, squares, products = (
            count[lines.get(f"{name}:{number}", none)] for name in ("values", "squares", "products")
        )
        n, n_squares = count[lines[f"n:{number}"]].tolist()
        return ValueCounts(by_value, n, squares, products, n_squares)

    sums = {
        name.removeprefix("sums:"): Sums(*(int(number) for number in count[own]))
        for name, own in lines.items()
        if name.startswith("sums:")
    }
    counts = {kind: count[lines[f"pattern:{kind}"]] for kind in index}
    return Baseline(int(count[0]), index, counts, list(map(values_of, range(properties))), sums)


def add_up(tables: Iterable[pa.Table]) -> pa.Table:
    """Add up counts over parts of the baseline: a `baseline_table`, and then tables of `few_counts`."""
    several = iter(tables)
    first = next(several)
    totals = [first[part].to_numpy().copy() for part in PARTS]
    for table in several:
        line = table["line"].to_numpy()
        for total, part in zip(totals, PARTS, strict=True):
            total[line] += table[part].to_numpy()
    return pa.table([first["what"], first["key"], *map(pa.array, totals)], names=first.column_names)
