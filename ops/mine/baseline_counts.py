"""Counts over the baseline sample: of every candidate pattern and of every property's values."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ops.mine.properties import Profiler
from ops.mine.value_counts import ValueCounts
from ops.reducers.integer_sums import Sums

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Baseline:
    """The baseline's counts.

    Attributes:
        sentences: its number of sentences.
        keys, counts: each kind's candidate patterns and in how many of the sentences they occur.
        values: the values of each property, in the order of the profiler's properties.
        sums: the sums that the means are made of.
    """

    sentences: int
    keys: dict[str, pa.Array]
    counts: dict[str, Longs]
    values: list[ValueCounts]
    sums: dict[str, Sums]

    def support(self, kind: str, keys: pa.ChunkedArray) -> Longs:
        """Return in how many baseline sentences each of these candidates of a kind occurs, `[candidates]`."""
        where = pc.index_in(keys, value_set=self.keys[kind])
        return np.asarray(self.counts[kind][np.asarray(where)])


def baseline_table(
    sentences: int, patterns: dict[str, tuple[pa.Array, Longs]], profiler: Profiler, rows: Longs
) -> pa.Table:
    """Return the counts over some of the baseline's rows as a table with the columns `what`, `key` and `count`.

    Tables over other rows have the same lines, so that those over disjoint rows are added up line by line.

    Args:
        sentences: number of the rows.
        patterns: each kind's candidates as keys, and in how many of the sentences each occurs.
        profiler: counts the properties.
        rows: the rows.
    """
    what, keys, counts = [pa.array(["sentences"])], [pa.array([b""])], [np.array([sentences], np.int64)]

    def add(name: str, key: pa.Array | None, numbers: Longs) -> None:
        what.append(pa.array([name] * len(numbers), pa.string()))
        keys.append(key if key is not None else pa.array([b""] * len(numbers), pa.binary()))
        counts.append(numbers)

    for kind, (key, found) in patterns.items():
        add(f"pattern:{kind}", key, found)
    for number, values in enumerate(profiler.count(rows)):
        add(f"values:{number}", None, values.count)
        add(f"n:{number}", None, np.array([values.n], np.int64))
    for name, sums in profiler.sums(rows).items():
        add(f"sums:{name}", None, np.array([sums.n, sums.total, sums.squares], np.int64))
    columns = [pa.chunked_array(what), pa.chunked_array(keys), pa.array(np.concatenate(counts))]
    return pa.table(columns, names=["what", "key", "count"])


def read_baseline(table: pa.Table, profiler: Profiler) -> Baseline:
    """Return the counts that a table of `baseline_table` holds; the profiler must have the same properties."""
    whole = table.combine_chunks()
    what, count = whole["what"].combine_chunks(), whole["count"].to_numpy()
    names = what.dictionary_encode()
    codes = names.indices.to_numpy()
    place = {name: code for code, name in enumerate(names.dictionary.to_pylist())}
    starts = np.searchsorted(codes, np.arange(len(place) + 1))

    def lines(name: str) -> slice:
        return slice(int(starts[place[name]]), int(starts[place[name] + 1])) if name in place else slice(0, 0)

    kinds = [name.removeprefix("pattern:") for name in place if name.startswith("pattern:")]
    keys = {kind: whole["key"].combine_chunks()[lines(f"pattern:{kind}")] for kind in kinds}
    counts = {kind: count[lines(f"pattern:{kind}")] for kind in kinds}
    values = [
        ValueCounts(count[lines(f"values:{i}")], int(count[lines(f"n:{i}")][0]))
        for i in range(len(profiler.properties))
    ]
    sums = {n.removeprefix("sums:"): Sums(*(int(c) for c in count[lines(n)])) for n in place if n.startswith("sums:")}
    return Baseline(int(count[0]), keys, counts, values, sums)


def add_up(tables: Iterable[pa.Table]) -> pa.Table:
    """Add up the counts of `baseline_table`s over parts of the baseline; each has the same rows in the same order."""
    total: Longs | None = None
    for table in tables:
        counts = table["count"].to_numpy()
        total = counts if total is None else total + counts
        first = table
    return first.set_column(first.schema.get_field_index("count"), "count", pa.array(total, pa.int64()))
