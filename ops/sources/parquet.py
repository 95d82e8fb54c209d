"""Rows of a Parquet file, batch by batch within each row group."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from ops.errors import InputError, one_line
from ops.sources.arrow_text import is_bytes, is_scalar, is_string
from ops.sources.batch_rows import batch_rows
from ops.sources.columns import require_columns
from ops.sources.rows import Broken, OnError, Row, broken, printable
from ops.storage.streams import ErrorRecordingStream, open_seekable

_BATCH_BYTES = 1 << 24  # of decoded values, so that rows of 10 MB come one by one
_BATCH_ROWS = 8192
_RUN_BYTES = 1 << 26  # of compressed values: what one worker reads at a time
_DAMAGE = (OSError, ValueError, MemoryError, pa.ArrowException)


def open_parquet(path: str, text_column: str) -> tuple[pq.ParquetFile, ErrorRecordingStream]:
    """An open Parquet file and its stream; `InputError` for an unreadable footer or no column of text."""
    file, stream = _open(path)
    schema = file.schema_arrow
    require_columns(path, [printable(column) for column in schema.names], text_column)
    kind = schema.field(text_column).type
    if not (is_string(kind) or is_bytes(kind)):
        raise InputError(f"{path}: the column {text_column!r} is {kind}, expected text; name the text by --text-column")
    return file, stream


def row_group_runs(path: str) -> list[tuple[int, int, int]]:
    """Runs of row groups of about 64 MB as stored: the first group, the one after the last, the first row.

    Raises `InputError` for an unreadable footer.
    """
    file, _ = _open(path)
    runs, begin, first, row, size = [], 0, 0, 0, 0
    with file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            size += sum(group.column(place).total_compressed_size for place in range(group.num_columns))
            row += group.num_rows
            if size >= _RUN_BYTES:
                runs.append((begin, number + 1, first))
                begin, first, size = number + 1, row, 0
        if begin < file.num_row_groups or not runs:
            runs.append((begin, file.num_row_groups, first))
    return runs


def read_parquet(
    path: str,
    *,
    text_column: str = "text",
    on_error: OnError = "fail",
    name: str | None = None,
    first_group: int = 0,
    behind_group: int | None = None,
    first_row: int = 0,
) -> Iterator[Row | Broken]:
    """The rows of a Parquet file; `doc_id` from its column, or `name:row` from 0; other scalars are metadata.

    The text is a column of strings, of bytes in UTF-8, or a dictionary of them. Only the row groups from
    `first_group` (whose first row is the file's `first_row`) to the one before `behind_group` are read.
    Raises `InputError` as `open_parquet` does and, under `fail`, for a damaged row group; under `reject` each
    of its lost rows is `broken`.
    """
    name = name or os.path.basename(path)
    file, stream = open_parquet(path, text_column)
    with file:
        first = first_row
        for group in range(first_group, file.num_row_groups if behind_group is None else behind_group):
            rows = file.metadata.row_group(group).num_rows
            done = 0
            try:
                for batch in _batches(file, group, text_column):
                    for row in batch_rows(batch, text_column, name, first + done):
                        yield row
                        done += 1
                if done != rows:
                    raise pa.ArrowInvalid(f"{done} rows, the footer says {rows}")
            except _DAMAGE as error:
                stream.reraise()
                place = f"row group {group} (rows {first} to {first + rows - 1})"
                for number in range(first + done, first + rows):
                    yield broken(path, place, one_line(error), f"{name}:{number}", "", on_error)
            first += rows


def _open(path: str) -> tuple[pq.ParquetFile, ErrorRecordingStream]:
    stream = ErrorRecordingStream(open_seekable(path))
    if stream.raw.size() == 0:
        raise InputError(f"{path}: the file is empty; expected a Parquet file")
    try:
        file = pq.ParquetFile(pa.PythonFile(stream, "r"), page_checksum_verification=True)
        counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        file.schema_arrow  # noqa: B018 (a damaged schema shows only here)
    except _DAMAGE as error:
        stream.reraise()
        raise InputError(
            f"{path}: not a whole Parquet file ({one_line(error)}); if it is truncated, copy it again"
        ) from error
    if min(counts, default=0) < 0 or sum(counts) != file.metadata.num_rows:
        raise InputError(f"{path}: the Parquet footer contradicts itself on the number of rows; write the file again")
    return file, stream


def _batches(file: pq.ParquetFile, group: int, text_column: str) -> Iterator[pa.RecordBatch]:
    schema, info = file.schema_arrow, file.metadata.row_group(group)
    columns = [field.name for field in schema if field.name == text_column or _wanted(field)]
    size = info.total_byte_size // max(1, info.num_rows)
    rows = min(_BATCH_ROWS, max(1, _BATCH_BYTES // max(1, size)))
    batches: Iterator[pa.RecordBatch] = file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)
    return batches


def _wanted(field: pa.Field) -> bool:
    return is_scalar(field.type) or (field.name == "doc_id" and is_bytes(field.type))
