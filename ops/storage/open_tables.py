"""Tables that are read many times, a few rows at a time, so that their footers are read once and kept in memory."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ops.arrays import Int32s, Int64s
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.store import Store


@dataclass(frozen=True)
class KeyIndex:
    """An index of the row groups of a table that is sorted by a key.

    Row group `group` of file `file` contains the keys from `first` to `last`. The index takes 24 bytes for each row
    group.
    """

    first: Int64s
    last: Int64s
    file: Int32s
    group: Int32s


class OpenTables:
    """A run's tables, kept open for readers in several threads.

    Args:
        store: the run's folder.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._sets: dict[str, ds.Dataset] = {}
        self._indices: dict[str, KeyIndex] = {}
        self._lock = Lock()

    def dataset(self, table: str) -> ds.Dataset:
        """Return a table as a data set; the footers of its files are read only once."""
        with self._lock:
            if table not in self._sets:
                self._sets[table] = self.store.dataset(table)
            return self._sets[table]

    def read(self, table: str, where: pc.Expression | None = None, columns: list[str] | None = None) -> pa.Table:
        """Return the rows of a table that satisfy `where` (None: all rows), in the table's order."""
        return self.dataset(table).to_table(filter=where, columns=columns)

    def rows(self, table: str, where: pc.Expression, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """Return the rows that `read` returns, each row as a Python dict."""
        found: list[dict[str, Any]] = self.read(table, where, columns).to_pylist()
        return found

    def rows_of_keys(self, table: str, key: str, keys: set[int], columns: list[str]) -> list[dict[str, Any]]:
        """Return the rows with these keys from a table that is sorted by its key.

        Row groups that contain none of the keys are not read. Only the rows with these keys are kept from the others.

        Args:
            table: the table's name.
            key: the integer column by which the table is sorted.
            keys: the requested keys; keys that the table does not contain are ignored.
            columns: the columns to read, including the key.
        """
        wanted = np.array(sorted(keys), np.int64)
        index = self._index(table, key)
        # A group may contain wanted keys if more wanted keys are at most its last key than are below its first key.
        before = np.searchsorted(wanted, index.first, side="left")
        until = np.searchsorted(wanted, index.last, side="right")
        files = self.store.table_files(table)

        def read(file: int) -> list[dict[str, Any]]:
            groups = np.flatnonzero((index.file == file) & (until > before))
            with self.store.parquet(files[file]) as opened:
                found = opened.read_row_groups(index.group[groups].tolist(), columns=columns, use_threads=False)
            rows: list[dict[str, Any]] = found.filter(pc.is_in(found[key], pa.array(wanted))).to_pylist()
            return rows

        touched = np.unique(index.file[until > before]).tolist()
        with ThreadPoolExecutor(LARGE_FILES_AT_ONCE) as threads:
            return [row for rows in threads.map(read, touched) for row in rows]

    def _index(self, table: str, key: str) -> KeyIndex:
        with self._lock:
            if table not in self._indices:
                self._indices[table] = _indexed(self.store, self.store.table_files(table), key)
            return self._indices[table]


def _indexed(store: Store, files: list[str], key: str) -> KeyIndex:
    def of_file(number: int) -> Int64s:
        with store.parquet(files[number]) as file:
            place = file.schema_arrow.get_field_index(key)
            rows = [
                (found.min, found.max, number, group)
                for group in range(file.num_row_groups)
                if (found := file.metadata.row_group(group).column(place).statistics) is not None
            ]
        return np.array(rows, np.int64).reshape(-1, 4)

    with ThreadPoolExecutor(LARGE_FILES_AT_ONCE) as threads:
        parts = list(threads.map(of_file, range(len(files))))
    first, last, file, group = np.concatenate([*parts, np.zeros((0, 4), np.int64)]).T
    return KeyIndex(first, last, file.astype(np.int32), group.astype(np.int32))
