"""The Parquet files of the published tables, all written in the same way."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.schema import SCHEMA_VERSION, group_rows
from ops.storage.range_file import read_groups_of_each
from ops.storage.store import ROWS, Store

COMPRESSION = "zstd"


def part_name(table: str, part: int) -> str:
    """Return the path of a table's part below the run's folder."""
    return f"{table}/part-{part:05d}.parquet"


def footer(fingerprint: str) -> dict[bytes, bytes]:
    """Return the footer entries that every published file contains."""
    return {b"atlas.schema_version": SCHEMA_VERSION.encode(), b"atlas.fingerprint": fingerprint.encode()}


def stored_columns(schema: pa.Schema) -> dict[str, bool]:
    """Return the path of every column that Parquet stores for a table, and whether it has single or double floats.

    >>> stored_columns(pa.schema([("sent_id", pa.int64()), ("sample", pa.list_(pa.float32()))]))
    {'sent_id': False, 'sample.list.element': True}
    """
    sink = pa.BufferOutputStream()
    pq.write_metadata(schema, sink)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return {column.path: column.physical_type in ("FLOAT", "DOUBLE") for column in columns}


def write_part(
    store: Store,
    table: str,
    part: int,
    schema: pa.Schema,
    batches: Iterable[pa.Table],
    fingerprint: str,
    extra: dict[bytes, bytes] | None = None,
) -> int:
    """Commit one part of a table and return its number of rows.

    Args:
        batches: tables that each become a row group and are written one by one; a table with more rows than the limit
            of a group is cut. Without any batch, the file has no rows.
    """
    limit = group_rows(table)
    described = schema.with_metadata({**footer(fingerprint), **(extra or {})})
    rows = 0

    def write(path: str) -> None:
        nonlocal rows
        # Floats seldom repeat: with dictionaries for them, activations/ took eight times as long to write.
        columns = [path for path, is_float in stored_columns(schema).items() if not is_float]
        options = {"compression": COMPRESSION, "use_dictionary": columns, "write_page_checksum": True}
        with pq.ParquetWriter(path, described, **options) as writer:
            for batch in batches:
                rows += batch.num_rows
                if batch.num_rows:
                    writer.write_table(batch.cast(schema), row_group_size=limit)
            writer.add_key_value_metadata({ROWS: str(rows).encode()})

    store.commit(part_name(table, part), write)
    return rows


def read_parts(store: Store, table: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield a table's row groups in the order of its parts; on object storage a few parts are read ahead."""
    return read_groups_of_each(store, store.table_files(table), columns)


def read_table(
    store: Store, table: str, where: pc.Expression | None = None, columns: list[str] | None = None
) -> pa.Table:
    """Return the rows of a table that satisfy `where` (None: all rows), in the table's order."""
    return store.dataset(table).to_table(filter=where, columns=columns)


def read_rows(store: Store, table: str, where: pc.Expression, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the rows that `read_table` returns, each row as a Python dict."""
    rows: list[dict[str, Any]] = read_table(store, table, where, columns).to_pylist()
    return rows
