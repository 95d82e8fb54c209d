"""Conversion of Arrow batches to rows: which columns are read, and how values of any type become Python strings."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from pyarrow import types

from ops.errors import InputError
from ops.sources.rows import Broken, Row, printable, scalar_text, to_row

DAMAGE = (OSError, ValueError, MemoryError, pa.ArrowException)  # raised by pyarrow if stored bytes are damaged
_OFFSET = re.compile(r"([+-]\d\d)(\d\d)$")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values: a dictionary type gives that of its entries, an extension that of its storage."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    return plain_type(kind.value_type) if types.is_dictionary(kind) else kind


def is_string(kind: pa.DataType) -> bool:
    """Return whether the values are strings."""
    kind = plain_type(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether the values are bytes, which may be UTF-8."""
    kind = plain_type(kind)
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def is_scalar(kind: pa.DataType) -> bool:
    """Return whether the values can be metadata: strings, booleans, numbers or times, not bytes or nested values."""
    plain = plain_type(kind)
    numeric = types.is_boolean(plain) or types.is_integer(plain) or types.is_floating(plain) or types.is_decimal(plain)
    return is_string(plain) or numeric or types.is_temporal(plain)


def require_text(path: str, text_column: str, kind: pa.DataType) -> None:
    """Refuse a column of text whose values are neither strings nor bytes.

    Args:
        path: the source that the user named, for the error message.
        text_column: the column's name.
        kind: the column's type.

    Raises:
        InputError: the values are neither strings nor bytes.
    """
    if not (is_string(kind) or is_bytes(kind)):
        raise InputError(
            f"{path}: the column {text_column!r} is {kind}, expected text; name the text column with --text-column"
        )


def read_columns(schema: pa.Schema, text_column: str) -> list[str]:
    """Return the columns that rows are made of: the text, all scalar columns, and `doc_id` even if it is bytes."""
    return [
        field.name
        for field in schema
        if field.name == text_column or is_scalar(field.type) or (field.name == "doc_id" and is_bytes(field.type))
    ]


def texts(column: pa.Array) -> list[str | None]:
    """Return the strings (or bytes) of a column as text; bytes that are not UTF-8 become lone surrogates."""
    values = _plain(column).cast(pa.large_binary()).to_pylist()
    return [None if value is None else value.decode("utf-8", "surrogateescape") for value in values]


def scalars(column: pa.Array) -> list[str | None]:
    """Return the values of a scalar column as metadata strings: `true`/`false`, digits, shortest floats, ISO times."""
    column = _plain(column)
    kind = column.type
    if is_string(kind):
        return texts(column)
    if types.is_float32(kind) or types.is_float16(kind):
        numbers: Any = column.to_numpy(zero_copy_only=False)
        valid = column.is_valid().to_pylist()
        return [str(number) if there else None for number, there in zip(numbers, valid, strict=True)]
    if types.is_timestamp(kind):
        return [None if value is None else _iso(value) for value in column.cast(pa.string()).to_pylist()]
    if types.is_temporal(kind) and not types.is_duration(kind):
        return [None if value is None else str(value) for value in column.cast(pa.string()).to_pylist()]
    if types.is_decimal(kind) or types.is_duration(kind) or types.is_interval(kind):
        return [None if value is None else str(value) for value in column.to_pylist()]
    return [scalar_text(value) for value in column.to_pylist()]


def named_labels(column: pa.Array, names: list[str] | None) -> pa.Array:
    """Return the names of class labels, null for a number without a name; another column is returned unchanged."""
    if not names or not types.is_integer(column.type):
        return column
    labels = [names[n] if n is not None and 0 <= n < len(names) else None for n in column.to_pylist()]
    return pa.array(labels, pa.string())


def batch_rows(batch: pa.RecordBatch, text_column: str, name: str, first: int) -> list[Row | Broken]:
    """Return the rows of a batch.

    Args:
        batch: the columns that `read_columns` returns; scalar columns become metadata, without null values.
        text_column: the column of the text.
        name: the name of the file or shard; a row without a `doc_id` gets `name:row`.
        first: the index of the batch's first row.
    """
    numbers = range(first, first + batch.num_rows)
    values = {field.name: batch.column(place) for place, field in enumerate(batch.schema)}
    text = texts(values.pop(text_column))
    own: list[str | None] = [None] * batch.num_rows
    if "doc_id" in values:
        column = values.pop("doc_id")
        own = texts(column) if is_bytes(column.type) else scalars(column)
    meta: list[dict[str, str]] = [{} for _ in numbers]
    for key, column in values.items():
        for record, value in zip(meta, scalars(column), strict=True):
            if value is not None:
                record[printable(key)] = value
    ids = [f"{name}:{number}" if given is None else given for given, number in zip(own, numbers, strict=True)]
    return [to_row(*row) for row in zip(text, ids, meta, strict=True)]


def _plain(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return _plain(column.dictionary_decode()) if isinstance(column, pa.DictionaryArray) else column


def _iso(stamp: str) -> str:
    return _OFFSET.sub(r"\1:\2", stamp.replace(" ", "T", 1))
