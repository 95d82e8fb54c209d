"""Reading of rows from a Parquet file, batch by batch within each row group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ops.errors import InputError, one_line
from ops.sources.chat import CHAT_COLUMNS, records_in
from ops.sources.file_format import FileFormat, piece_bytes
from ops.sources.rows import Broken, OnError, Row, broken
from ops.sources.source_format import Part, Piece
from ops.storage.streams import ErrorRecordingStream, open_seekable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH_BYTES = 1 << 24  # of decoded values, so that rows of 10 MB are read one by one
_BATCH_ROWS = 8192


def open_parquet(path: str, text_column: str) -> tuple[pq.ParquetFile, ErrorRecordingStream]:
    """Return an open Parquet file and its stream.

    Raises:
        InputError: the footer cannot be read, or there is no column of text with this name.
    """
    from ops.sources.arrow_rows import check_schema

    file, stream = _open(path)
    check_schema(path, file.schema_arrow, text_column)
    return file, stream


def row_group_runs(path: str, range_bytes: int, fewest: int = 1) -> list[tuple[int, int, int]]:
    """Divide a file into ranges of consecutive row groups, each as (start, stop, first row).

    A range ends once its row groups have at least `piece_bytes` decompressed bytes. Nested columns, such as vectors,
    are never read, so they are not counted: the text may be a small part of the file. Conversations are counted.

    Args:
        path: the file.
        range_bytes, fewest: as `piece_bytes` takes them.

    Raises:
        InputError: the footer cannot be read.
    """
    file, _ = _open(path)
    runs, start, first, row, size = [], 0, 0, 0, 0
    with file:
        read = [place for place in range(len(file.schema)) if _is_read(file.schema.column(place))]
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        sizes = [sum(group.column(place).total_uncompressed_size for place in read) for group in groups]
        enough = piece_bytes(sum(sizes), range_bytes, fewest)
        for number, group in enumerate(groups):
            size += sizes[number]
            row += group.num_rows
            if size >= enough:
                runs.append((start, number + 1, first))
                start, first, size = number + 1, row, 0
        if start < file.num_row_groups or not runs:
            runs.append((start, file.num_row_groups, first))
    return runs


def count_rows(path: str, first_group: int = 0, stop_group: int | None = None) -> int:
    """Return the number of rows of a file's row groups from `first_group` up to, but not including, `stop_group`.

    If `stop_group` is None, all following row groups are counted.

    Raises:
        InputError: the footer cannot be read.
    """
    file, _ = _open(path)
    with file:
        stop = file.num_row_groups if stop_group is None else stop_group
        return sum(file.metadata.row_group(group).num_rows for group in range(first_group, stop))


def read_parquet(
    path: str,
    *,
    text_column: str = "text",
    on_error: OnError = "fail",
    name: str | None = None,
    first_group: int = 0,
    stop_group: int | None = None,
    first_row: int = 0,
    batch_bytes: int = _BATCH_BYTES,
) -> Iterator[Row | Broken]:
    """Yield the rows of a Parquet file.

    `doc_id` is read from its column, or is `name:row` with rows counted from 0. Other scalar columns are metadata.

    Args:
        path: the file.
        text_column: the column of the text, which contains strings or UTF-8 bytes, possibly dictionary-encoded.
        on_error: under `reject`, each row that is lost to damage is `broken`.
        name: the file's name in `doc_id`; by default its own name.
        first_group, stop_group: the row groups that are read, from `first_group` up to, but not including,
            `stop_group`; None means all following row groups.
        first_row: the index in the file of the first row of `first_group`.
        batch_bytes: maximum number of decoded bytes in memory at once, unless a single row has more.

    Raises:
        InputError: as in `open_parquet`; or, under `fail`, a row group is damaged.
        OSError: the storage fails, which does not mean that the file is damaged.
    """
    import pyarrow as pa

    from ops.sources.arrow_rows import DAMAGE, batch_rows

    name = name or os.path.basename(path)
    file, stream = open_parquet(path, text_column)
    with file:
        first = first_row
        for group in range(first_group, file.num_row_groups if stop_group is None else stop_group):
            rows = file.metadata.row_group(group).num_rows
            done = 0
            try:
                for batch in _batches(file, group, text_column, batch_bytes):
                    yield from batch_rows(batch, text_column, name, first + done)
                    done += batch.num_rows
                if done != rows:
                    raise pa.ArrowInvalid(f"{done} rows, the footer says {rows}")
            except DAMAGE as error:
                stream.reraise()
                place = f"row group {group} (rows {first} to {first + rows - 1})"
                for number in range(first + done, first + rows):
                    yield broken(path, place, one_line(error), f"{name}:{number}", "", on_error)
            first += rows


def _open(path: str) -> tuple[pq.ParquetFile, ErrorRecordingStream]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ops.sources.arrow_rows import DAMAGE

    stream = ErrorRecordingStream(open_seekable(path))
    if stream.raw.size() == 0:
        raise InputError(f"{path}: the file is empty; expected a Parquet file")
    try:
        file = pq.ParquetFile(pa.PythonFile(stream, "r"), page_checksum_verification=True)
        counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        file.schema_arrow  # noqa: B018 (a damaged schema shows only here)
    except DAMAGE as error:
        stream.reraise()
        raise InputError(
            f"{path}: not a complete Parquet file ({one_line(error)}); if it is truncated, copy it again"
        ) from error
    if min(counts, default=0) < 0 or sum(counts) != file.metadata.num_rows:
        raise InputError(f"{path}: the Parquet footer contradicts itself on the number of rows; write the file again")
    return file, stream


def _is_read(column: pq.ColumnSchema) -> bool:
    is_flat = column.max_repetition_level == 0 and column.max_definition_level <= 1
    return is_flat or column.path.partition(".")[0] in CHAT_COLUMNS


def _batches(file: pq.ParquetFile, group: int, text_column: str, batch_bytes: int) -> Iterator[pa.RecordBatch]:
    from ops.sources.arrow_rows import read_columns

    info = file.metadata.row_group(group)
    columns = read_columns(file.schema_arrow, text_column)
    size = info.total_byte_size // max(1, info.num_rows)
    rows = min(_BATCH_ROWS, max(1, batch_bytes // max(1, size)))
    batches: Iterator[pa.RecordBatch] = file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)
    return batches


@dataclass(frozen=True, kw_only=True)
class _Parquet(FileFormat):
    def check_file(self, path: str, text_column: str, options: Part) -> None:
        file, _ = open_parquet(path, text_column)
        file.close()

    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        from ops.sources.arrow_rows import listed_columns

        file, _ = open_parquet(path, text_column)
        with file:
            return listed_columns(file.schema_arrow, text_column)

    def split_file(self, path: str, range_bytes: int, fewest: int) -> list[Part]:
        runs = row_group_runs(path, range_bytes, fewest)
        if len(runs) == 1:
            return [{}]
        return [{"first_group": first, "stop_group": stop, "first_row": row} for first, stop, row in runs]

    def extent(self, piece: Piece) -> float:
        return float(count_rows(piece.file, piece.part.get("first_group", 0), piece.part.get("stop_group")))

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        return float(records_in(rows))


PARQUET = _Parquet(kind="parquet", suffixes=(".parquet",), reader=read_parquet, told_by="footers")
