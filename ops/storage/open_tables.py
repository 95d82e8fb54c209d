"""Tables that are read many times, a few rows at a time, so that their footers are read once and kept in memory."""

from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ops.storage.store import Store


class OpenTables:
    """A run's tables, kept open for readers in several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._sets: dict[str, ds.Dataset] = {}
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

        Row groups that contain none of the keys are not read.
        """
        return self.rows(table, pc.field(key).isin(pa.array(sorted(keys), pa.int64())), columns)
