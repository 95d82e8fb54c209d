"""Tables that are read many times, a few rows at a time, so that their footers are read once and kept in memory."""

from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ops.arrays import Int64s
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store


class OpenTables:
    """A run's tables, kept open for readers in several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._sets: dict[str, ds.Dataset] = {}
        self._indices: dict[str, list[tuple[ds.ParquetFileFragment, Int64s]]] = {}
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
        rows: list[dict[str, Any]] = self.read(table, where, columns).to_pylist()
        return rows

    def rows_of_keys(self, table: str, key: str, keys: set[int], columns: list[str]) -> list[dict[str, Any]]:
        """Return the rows with these keys from a table that is sorted by its key.

        Row groups that contain none of the keys are not read. Arrow leaves groups out by itself, but only for up to 50
        keys: for 51 of 600,000 sentences it read 18 times as much.
        """
        wanted, dataset = np.array(sorted(keys), np.int64), self.dataset(table)
        parts = []
        for fragment, (first, last) in self._index(table, key, dataset):
            # A group may contain wanted keys if more of them are at most its last key than are below its first key.
            groups = np.flatnonzero(np.searchsorted(wanted, last, "right") > np.searchsorted(wanted, first))
            if len(groups):
                parts.append(fragment.subset(row_group_ids=groups.tolist()))
        some = ds.FileSystemDataset(parts, dataset.schema, dataset.format, dataset.filesystem)
        rows: list[dict[str, Any]] = some.to_table(columns, pc.field(key).isin(pa.array(wanted))).to_pylist()
        return rows

    def _index(self, table: str, key: str, opened: ds.Dataset) -> list[tuple[ds.ParquetFileFragment, Int64s]]:
        """Return each file with the first and the last keys of its row groups, `[2, groups]`."""

        def keys(fragment: ds.ParquetFileFragment) -> tuple[ds.ParquetFileFragment, Int64s]:
            # A row group without rows has no keys.
            ends = [group.statistics.get(key, {"min": 1, "max": 0}) for group in fragment.row_groups]
            return fragment, np.array([[end[which] for end in ends] for which in ("min", "max")], np.int64)

        with self._lock:
            if table not in self._indices:
                self._indices[table] = list(side_by_side(keys, opened.get_fragments()))
            return self._indices[table]
