"""Reading of rows from an Arrow file, which is how `datasets` saves a dataset, batch by batch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ops.errors import InputError, one_line
from ops.sources.chat import records_in
from ops.sources.file_format import FileFormat
from ops.sources.file_names import inside
from ops.sources.rows import Broken, OnError, Row, broken
from ops.sources.source_format import Part, Piece
from ops.storage.streams import ErrorRecordingStream, file_size, file_type, open_seekable

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"ARROW1"  # begins a file whose batches can be read in any order; `datasets` writes streams


def read_arrow(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None
) -> Iterator[Row | Broken]:
    """Yield the rows of an Arrow file or stream; columns are used as `read_parquet` does.

    Class labels become their names, as the schema of `datasets` gives them.

    Args:
        path: the file.
        text_column: the column of the text.
        on_error: under `reject`, the rest of a file that is damaged is one `broken` row.
        name: the file's name in `doc_id`; by default its own name.

    Raises:
        InputError: the schema cannot be read or has no column of text with this name; or, under `fail`, the rest is
            damaged.
        OSError: the storage fails, which does not mean that the file is damaged.
    """
    from ops.sources.arrow_rows import DAMAGE, batch_rows, check_schema, read_columns

    name = name or os.path.basename(path)
    schema, batches, stream = _open(path)
    check_schema(path, schema, text_column)
    columns, labels = read_columns(schema, text_column), _label_names(schema)
    number = 0
    while True:
        try:
            batch = next(batches, None)
            if batch is None:
                return
            batch.validate(full=True)
            rows = batch_rows(_with_names(batch.select(columns), labels), text_column, name, number)
        except DAMAGE as error:
            stream.reraise()
            yield broken(path, f"after row {number}", one_line(error), f"{name}:{number}", "", on_error)
            return
        yield from rows
        number += batch.num_rows


def saved_files(folder: str) -> list[str]:
    """Return the files of a folder that `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote; else none.

    Raises:
        InputError: the folder's own records are damaged.
    """
    splits = _names(inside(folder, "dataset_dict.json"), lambda record: record["splits"])
    if splits is not None:
        return [file for split in splits for file in saved_files(inside(folder, split))]
    names = _names(inside(folder, "state.json"), lambda record: [file["filename"] for file in record["_data_files"]])
    return [inside(folder, name) for name in names or []]


def _names(path: str, read: Callable[[Any], list[str]]) -> list[str] | None:
    """Return the names that a record of a folder lists; None if there is no such record."""
    from pyarrow.fs import FileType

    if file_type(path) != FileType.File:
        return None
    with open_seekable(path) as file:
        try:
            return list(map(str, read(json.loads(file.read()))))
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: is no record of a saved dataset ({one_line(error)}); save it again") from error


def _open(path: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch], ErrorRecordingStream]:
    import pyarrow as pa

    from ops.sources.arrow_rows import DAMAGE

    stream = ErrorRecordingStream(open_seekable(path))
    try:
        is_file = stream.raw.read(len(_MAGIC)) == _MAGIC
        stream.raw.seek(0)
        source = pa.PythonFile(stream, "r")
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        schema = reader.schema
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
    except DAMAGE as error:
        stream.reraise()
        raise InputError(f"{path}: not an Arrow file or stream ({one_line(error)}); copy it again") from error
    return schema, batches, stream


def _label_names(schema: pa.Schema) -> dict[str, list[str]]:
    """Return the names of class labels by column, from the metadata that `datasets` adds to a schema."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {name: list(kind["names"]) for name, kind in features.items() if kind.get("_type") == "ClassLabel"}
    except (LookupError, TypeError, ValueError, AttributeError):
        return {}


def _with_names(batch: pa.RecordBatch, labels: dict[str, list[str]]) -> pa.RecordBatch:
    from ops.sources.arrow_rows import named_labels

    columns = {name: batch.column(name) for name in batch.schema.names}
    return batch.from_pydict({n: named_labels(c, labels[n]) if n in labels else c for n, c in columns.items()})


@dataclass(frozen=True, kw_only=True)
class _Arrow(FileFormat):
    def check_file(self, path: str, text_column: str, options: Part) -> None:
        from ops.sources.arrow_rows import check_schema

        check_schema(path, _open(path)[0], text_column)

    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        from ops.sources.arrow_rows import check_schema, listed_columns

        schema = _open(path)[0]
        check_schema(path, schema, text_column)
        return listed_columns(schema, text_column)

    def extent(self, piece: Piece) -> float:
        """Return the number of bytes of a file, because only its batches say how many rows they have."""
        return float(file_size(piece.file))

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the approximate number of bytes of the batches of these rows."""
        size, left = 0.0, records_in(rows)
        for batch in _open(piece.file)[1]:
            size += batch.nbytes * min(left / max(batch.num_rows, 1), 1)
            left -= batch.num_rows
            if left <= 0:
                break
        return size


ARROW = _Arrow(kind="arrow", suffixes=(".arrow",), reader=read_arrow, told_by="sizes of files")
