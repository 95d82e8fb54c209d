"""Files of numbers that are read by ranges of one of their columns, or by the numbers of their rows."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.arrays import Arrays, Int64s
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, SMALL_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store

SEGMENT_ROWS = 1 << 20
GROUP_ROWS = 1 << 14


class SortedWriter:
    """Writes rows of numbers in segments, each sorted by the first column; memory is that of one segment.

    Args:
        path: a local file.
        schema: the columns, all of them numbers.
        segment: rows that are sorted together.
    """

    def __init__(self, path: str | Path, schema: pa.Schema, segment: int = SEGMENT_ROWS) -> None:
        self.schema, self.segment = schema, segment
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False)
        self._waiting: list[tuple[Arrays, ...]] = []
        self._waiting_rows = 0

    def __enter__(self) -> "SortedWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def add(self, *columns: Arrays) -> None:
        """Add some rows, an array for each column."""
        self._waiting.append(columns)
        self._waiting_rows += len(columns[0])
        if self._waiting_rows >= self.segment:
            self._flush()

    def finish(self, footer: dict[bytes, bytes]) -> None:
        """Write the last segment and the footer's entries."""
        self._flush()
        self._writer.add_key_value_metadata(footer)

    def _flush(self) -> None:
        if not self._waiting_rows:
            return
        whole = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        order = np.argsort(whole[0], kind="stable")
        table = pa.table([pa.array(column[order]) for column in whole], schema=self.schema)
        self._writer.write_table(table, row_group_size=GROUP_ROWS)
        self._waiting, self._waiting_rows = [], 0


def read_between(
    store: Store, name: str, column: str, first: int, last: int, columns: list[str] | None = None
) -> pa.Table:
    """Return the rows of a file whose `column` lies from `first` to `last`, both included, in the file's order.

    Row groups outside the range are not read. Of the columns those named, `column` among them, or all.
    """
    with store.parquet(name) as file:
        place = file.schema_arrow.get_field_index(column)
        inside = [
            i for i in range(file.num_row_groups) if _overlaps(file.metadata.row_group(i).column(place), first, last)
        ]
        table = file.read_row_groups(inside, columns=columns) if inside else file.schema_arrow.empty_table()
    kind = file.schema_arrow.field(column).type
    wanted = pc.and_(
        pc.greater_equal(table[column], pa.scalar(first, kind)), pc.less_equal(table[column], pa.scalar(last, kind))
    )
    return table.filter(wanted).replace_schema_metadata(None)


def read_each_between(
    store: Store, names: Iterable[str], column: str, first: int, last: int, at_once: int = SMALL_FILES_AT_ONCE
) -> Iterator[pa.Table]:
    """Return of some files, in their order, what `read_between` does of each; so many are read side by side."""
    return side_by_side(lambda name: read_between(store, name, column, first, last), names, at_once)


def _overlaps(column: Any, first: int, last: int) -> bool:
    found = column.statistics  # none in a group without rows
    return found is not None and bool(found.min <= last and found.max >= first)


def read_each(store: Store, names: Iterable[str], columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Return some files whole, in their order, with what their footers say; a few are read ahead."""

    def read(name: str) -> pa.Table:
        with store.parquet(name) as file:
            return file.read(columns=columns)

    return side_by_side(read, names, LARGE_FILES_AT_ONCE)


def read_groups(store: Store, name: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Return a file's row groups one after another.

    Names in lists, encoded by a dictionary for each group, cannot be read over several groups at once.
    """
    with store.parquet(name) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, columns=columns)


def read_groups_of_each(store: Store, names: Iterable[str], columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Return the row groups of some files, in their order, one at a time; on object storage some files are ahead."""
    if store.local:
        for name in names:
            yield from read_groups(store, name, columns)
    else:
        for groups in side_by_side(lambda name: list(read_groups(store, name, columns)), names, LARGE_FILES_AT_ONCE):
            yield from groups


def group_starts(file: pq.ParquetFile) -> Int64s:
    """Return the number of the first row of each row group, and the number of rows, `[groups + 1]`."""
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def take_rows(file: pq.ParquetFile, rows: Int64s, columns: list[str] | None = None) -> Iterator[tuple[slice, pa.Table]]:
    """Return the rows of these ascending numbers, a row group at a time, each with where its numbers stand in `rows`.

    Args:
        file: an open file.
        rows: numbers of rows from 0, `[rows]`; groups that hold none of them are not read.
        columns: those to read; None for all.
    """
    starts = group_starts(file)
    cuts = np.searchsorted(rows, starts)
    for group in np.flatnonzero(np.diff(cuts)).tolist():
        own = slice(cuts[group], cuts[group + 1])
        yield own, file.read_row_group(group, columns=columns).take(pa.array(rows[own] - starts[group]))


def write_numbers(table: pa.Table, path: str) -> None:
    """Write a table of numbers that is read by ranges of a column."""
    pq.write_table(table, path, row_group_size=GROUP_ROWS, compression="zstd", use_dictionary=False)
