"""Parquet files of the published tables: one writer, so that every table keeps the same promises."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ops.schema import SCHEMA_VERSION, group_rows
from ops.storage.parquet_columns import coded
from ops.storage.store import Store

COMPRESSION = "zstd"


def part_name(table: str, part: int) -> str:
    """Return the path of a table's part below the run's folder."""
    return f"{table}/part-{part:05d}.parquet"


def footer(fingerprint: str) -> dict[bytes, bytes]:
    """Return the footer entries that every published file carries."""
    return {b"atlas.schema_version": SCHEMA_VERSION.encode(), b"atlas.fingerprint": fingerprint.encode()}


def write_part(
    store: Store,
    table: str,
    part: int,
    schema: pa.Schema,
    batches: Iterable[pa.Table],
    fingerprint: str,
    extra: dict[bytes, bytes] | None = None,
) -> int:
    """Commit one part of a table, a row group for each table of `batches`, and return its number of rows.

    Each table of `batches` becomes one row group, unless it is longer than the table's limit of rows: then it is
    cut. No batch at all gives a file without rows.
    """
    limit = group_rows(table)
    described = schema.with_metadata({**footer(fingerprint), **(extra or {})})
    rows = 0

    def write(path: str) -> None:
        nonlocal rows
        with pq.ParquetWriter(path, described, compression=COMPRESSION, use_dictionary=coded(schema)) as writer:
            for batch in batches:
                rows += batch.num_rows
                if batch.num_rows:
                    writer.write_table(batch.cast(schema), row_group_size=limit)

    store.commit(part_name(table, part), write)
    return rows


def read_parts(store: Store, table: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Return a table's row groups in the order of its parts, one at a time."""
    for name in store.files(table, ".parquet"):
        with store.parquet(f"{table}/{name}") as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns)


def read_rows(store: Store, table: str, where: pc.Expression, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Return a table's rows for which `where` holds, in the table's order."""
    files = [store.path(f"{table}/{name}") for name in store.files(table, ".parquet")]
    found: pa.Table = ds.dataset(files, filesystem=store.filesystem, format="parquet").to_table(
        filter=where, columns=columns
    )
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows
