"""What every kind of `show` needs: reading LAYER:NUMBER, and the rows of a table for which something holds."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ops.errors import InputError
from ops.storage.store import Store


def parse_pair(flag: str, text: str, expected: str) -> tuple[int, int]:
    """Read two whole numbers with a colon between them.

    Raises:
        InputError: it is something else; `expected` says what was.
    """
    first, colon, second = text.partition(":")
    if not (colon and first.isdecimal() and second.isdecimal()):
        raise InputError(f"{flag} {text!r}: expected {expected}")
    return int(first), int(second)


def read(store: Store, table: str, where: pc.Expression, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Return a table's rows for which `where` holds, in the table's order."""
    files = [store.path(f"{table}/{name}") for name in store.files(table, ".parquet")]
    found: pa.Table = ds.dataset(files, filesystem=store.filesystem, format="parquet").to_table(
        filter=where, columns=columns
    )
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows
