"""Reading of rows from an Arrow file, which is how `datasets` saves a dataset, batch by batch."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow.fs import FileType

from ops.errors import InputError, one_line
from ops.sources.arrow_rows import DAMAGE, check_schema, listed_columns, named_labels, read_columns, rows_until_damage
from ops.sources.chat import records_in
from ops.sources.file_names import inside
from ops.sources.rows import Broken, Row
from ops.sources.source import Part, Piece, SourceFile
from ops.sources.source_format import FileFormat, Rows
from ops.storage.streams import ErrorRecordingStream, file_size, file_type, open_seekable

_MAGIC = b"ARROW1"  # begins a file whose batches can be read in any order; `datasets` writes streams


def read_arrow(file: SourceFile) -> Rows:
    """Yield the rows of an Arrow file or stream; columns are used as `read_parquet` does.

    Class labels become their names, as the schema of `datasets` gives them.

    Args:
        file: the file; the rest of a file that is damaged is one `broken` row.

    Raises:
        InputError: the schema cannot be read or has no column of text with this name; or, under `fail`, the rest is
            damaged.
        OSError: the storage fails, which does not mean that the file is damaged.
    """
    schema, batches, stream = _open(file.path)
    check_schema(file.path, schema, file.text_column)
    columns, labels = read_columns(schema, file.text_column), _label_names(schema)

    def selected(batch: pa.RecordBatch) -> pa.RecordBatch:
        batch.validate(full=True)
        return pa.RecordBatch.from_pydict({name: named_labels(batch[name], labels.get(name)) for name in columns})

    def is_damage(error: Exception) -> bool:
        stream.reraise()
        return isinstance(error, DAMAGE)

    yield from rows_until_damage(file, map(selected, batches), is_damage)


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
    if file_type(path) != FileType.File:
        return None
    with open_seekable(path) as file:
        try:
            return list(map(str, read(json.loads(file.read()))))
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: is no record of a saved dataset ({one_line(error)}); save it again") from error


def _open(path: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch], ErrorRecordingStream]:
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


class _Arrow(FileFormat):
    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
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


ARROW = _Arrow(kind="arrow", reader=read_arrow)
