"""Reading of rows from a Parquet file, batch by batch within each row group."""

import pyarrow as pa
import pyarrow.parquet as pq

from ops.errors import InputError, one_line
from ops.sources.arrow_rows import DAMAGE, batch_rows, check_schema, listed_columns, read_columns
from ops.sources.chat import CHAT_COLUMNS
from ops.sources.source import Part, Piece, SourceFile
from ops.sources.source_format import FileFormat, Rows, piece_bytes
from ops.storage.streams import ErrorRecordingStream, open_seekable

_BATCH_BYTES = 1 << 24  # of decoded values in memory at once, so that rows of 10 MB are read one by one
_BATCH_ROWS = 8192


def read_parquet(file: SourceFile, first_group: int = 0, stop_group: int | None = None, first_row: int = 0) -> Rows:
    """Yield the rows of a Parquet file.

    The text is a column of strings or UTF-8 bytes, possibly dictionary-encoded, or of conversations. `doc_id` is read
    from its column, or is `name:row` with rows counted from 0. Other scalar columns are metadata.

    Args:
        file: the file; each row that is lost to damage is `broken`.
        first_group, stop_group: the row groups that are read, from `first_group` up to, but not including,
            `stop_group`; None means all following row groups.
        first_row: the index in the file of the first row of `first_group`.

    Raises:
        InputError: the footer cannot be read, or there is no column of text with this name; or, under `fail`, a row
            group is damaged.
        OSError: the storage fails, which does not mean that the file is damaged.
    """
    opened, stream = _open(file.path)
    with opened:
        check_schema(file.path, opened.schema_arrow, file.text_column)
        columns = read_columns(opened.schema_arrow, file.text_column)
        first = first_row
        for group in range(first_group, opened.num_row_groups if stop_group is None else stop_group):
            info = opened.metadata.row_group(group)
            size = max(1, info.total_byte_size // max(1, info.num_rows))
            together, done = min(_BATCH_ROWS, max(1, _BATCH_BYTES // size)), 0
            try:
                for batch in opened.iter_batches(together, row_groups=[group], columns=columns, use_threads=False):
                    yield from batch_rows(batch, file, first + done)
                    done += batch.num_rows
                if done != info.num_rows:
                    raise pa.ArrowInvalid(f"{done} rows, the footer says {info.num_rows}")
            except DAMAGE as error:
                stream.reraise()
                place = f"row group {group} (rows {first} to {first + info.num_rows - 1})"
                for number in range(first + done, first + info.num_rows):
                    yield file.broken(place, one_line(error), file.doc_id(number))
            first += info.num_rows


def _open(path: str) -> tuple[pq.ParquetFile, ErrorRecordingStream]:
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


class _Parquet(FileFormat):
    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        file, _ = _open(path)
        with file:
            check_schema(path, file.schema_arrow, text_column)
            return listed_columns(file.schema_arrow, text_column)

    def split_file(self, path: str, fewest: int) -> list[Part]:
        """Divide a file into ranges of consecutive row groups.

        A range ends once its row groups have at least `piece_bytes` decompressed bytes. Nested columns, such as
        vectors, are never read, so they are not counted: the text may be a small part of the file. Conversations are
        counted.
        """
        file, _ = _open(path)
        parts, start, first, row, size = [], 0, 0, 0, 0
        with file:
            read = [index for index in range(len(file.schema)) if _is_read(file.schema.column(index))]
            groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        sizes = [sum(group.column(index).total_uncompressed_size for index in read) for group in groups]
        enough = piece_bytes(sum(sizes), fewest)
        for stop, group in enumerate(groups, 1):
            size += sizes[stop - 1]
            row += group.num_rows
            if size >= enough or stop == len(groups):
                parts.append({"first_group": start, "stop_group": stop, "first_row": first})
                start, first, size = stop, row, 0
        return parts if len(parts) > 1 else [{}]

    def extent(self, piece: Piece) -> float:
        """Return the number of rows of a piece."""
        file, _ = _open(piece.file)
        with file:
            groups = range(file.num_row_groups)[piece.part.get("first_group") : piece.part.get("stop_group")]
            return float(sum(file.metadata.row_group(group).num_rows for group in groups))


PARQUET = _Parquet(kind="parquet", reader=read_parquet)
