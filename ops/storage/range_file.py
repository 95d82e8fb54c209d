"""Files of numbers that are read by a range of values of one column, or by the indices of their rows."""

from collections.abc import Iterable, Iterator
from pathlib import Path
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
_OPTIONS = {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True}


class SortedWriter:
    """Writes rows of numbers in segments, each sorted by the first column; only one segment is in memory at a time.

    Args:
        segment: number of rows that are sorted together.
    """

    def __init__(self, path: str | Path, schema: pa.Schema, segment: int = SEGMENT_ROWS) -> None:
        self.schema, self.segment = schema, segment
        self._writer = pq.ParquetWriter(path, schema, **_OPTIONS)
        self._waiting: list[tuple[Arrays, ...]] = []
        self._waiting_rows = 0

    def __enter__(self) -> "SortedWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()

    def add(self, *columns: Arrays) -> None:
        """Add some rows, given as one array for each column."""
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
    """Return the rows of a file whose `column` is from `first` to `last`, both included, in the file's order.

    Row groups outside the range are not read. `columns` are the columns to read, including `column`; None for all.
    """
    with store.parquet(name) as file:
        index = file.schema_arrow.get_field_index(column)
        inside = [
            i for i in range(file.num_row_groups) if _overlaps(file.metadata.row_group(i).column(index), first, last)
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
    """Yield what `read_between` returns for each file, in order; `at_once` files are read at the same time."""
    return side_by_side(lambda name: read_between(store, name, column, first, last), names, at_once)


def _overlaps(column: Any, first: int, last: int) -> bool:
    statistics = column.statistics  # None for a group without rows
    return statistics is not None and bool(statistics.min <= last and statistics.max >= first)


def read_each(store: Store, names: Iterable[str], columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield the complete table of each file, with its footer's metadata, in order; a few files are read ahead."""

    def read(name: str) -> pa.Table:
        with store.parquet(name) as file:
            return file.read(columns=columns)

    return side_by_side(read, names, LARGE_FILES_AT_ONCE)


def read_groups(store: Store, name: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield a file's row groups one after another.

    Lists of strings with a separate dictionary encoding for each row group cannot be read over several groups at once.
    """
    with store.parquet(name) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, columns=columns)


def read_groups_of_each(store: Store, names: Iterable[str], columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield the row groups of some files in order, one at a time; on object storage a few files are read ahead."""
    if store.local:
        for name in names:
            yield from read_groups(store, name, columns)
    else:
        for groups in side_by_side(lambda name: list(read_groups(store, name, columns)), names, LARGE_FILES_AT_ONCE):
            yield from groups


def group_starts(file: pq.ParquetFile) -> Int64s:
    """Return the index of the first row of each row group, followed by the number of rows, `[groups + 1]`."""
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    return np.cumsum([0, *sizes], dtype=np.int64)


def take_rows(file: pq.ParquetFile, rows: Int64s, columns: list[str] | None = None) -> Iterator[tuple[slice, pa.Table]]:
    """Yield the rows with these ascending indices, a row group at a time, each preceded by its slice of `rows`.

    Args:
        rows: the indices of rows from 0, `[rows]`; groups that contain none of these rows are not read.
    """
    starts = group_starts(file)
    cuts = np.searchsorted(rows, starts)
    for group in np.flatnonzero(np.diff(cuts)).tolist():
        span = slice(cuts[group], cuts[group + 1])
        yield span, file.read_row_group(group, columns=columns).take(pa.array(rows[span] - starts[group]))


def write_numbers(table: pa.Table, path: str) -> None:
    """Write a table of numbers as a file that is read by ranges of a column."""
    pq.write_table(table, path, row_group_size=GROUP_ROWS, **_OPTIONS)
