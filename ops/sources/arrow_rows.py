"""Conversion of Arrow batches to rows: which columns are read, and how values of any type become Python strings."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyarrow import types

from ops.errors import InputError, one_line
from ops.sources.chat import CHAT_KEYS, FORMS, text_or_chat, text_rows
from ops.sources.rows import Broken, Row, printable, require_columns, scalar_text
from ops.sources.source import SourceFile
from ops.sources.source_format import Rows

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


def is_chat(kind: pa.DataType) -> bool:
    """Return whether the values are lists of messages, each with a role and its content."""
    if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
        return False
    names = {field.name for field in kind.value_type}
    return any(names.issuperset(form) for form in FORMS)


def check_schema(path: str, schema: pa.Schema, text_column: str) -> None:
    """Refuse columns without a text.

    Args:
        path: the source that the user named, for the error message.
        schema: the columns and their types.
        text_column: the name of the column of the text.

    Raises:
        InputError: there is no such column, a name occurs twice or is not UTF-8, or the values are neither strings,
            bytes nor conversations.
    """
    try:
        names = schema.names
        named, text_column = text_column, text_or_chat(names, text_column)
        require_columns(path, [printable(column) for column in names], text_column)
        kind = schema.field(text_column).type
        is_text = is_string(kind) or is_bytes(kind) or is_chat(kind)
        if is_text and not is_chat(kind):
            require_columns(path, names, named)  # only conversations may be in another column
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: a column's name is not UTF-8 ({one_line(error)}); write the file again") from error
    if not is_text:
        raise InputError(
            f"{path}: the column {text_column!r} is {one_line(str(kind))}, expected text, or messages with role and "
            "content (or from and value); name the text column with --text-column"
        )


def read_columns(schema: pa.Schema, text_column: str) -> list[str]:
    """Return the columns that rows are made of: the text, all scalar columns, and `doc_id` even if it is bytes."""
    text_column = text_or_chat(schema.names, text_column)
    return [
        field.name
        for field in schema
        if field.name == text_column or is_scalar(field.type) or (field.name == "doc_id" and is_bytes(field.type))
    ]


def listed_columns(schema: pa.Schema, text_column: str) -> list[str]:
    """Return the columns that rows are made of, and the metadata of messages if the text is conversations."""
    is_of_chats = is_chat(schema.field(text_or_chat(schema.names, text_column)).type)
    return [*read_columns(schema, text_column), *(CHAT_KEYS if is_of_chats else ())]


def texts(column: pa.Array) -> list[str | None]:
    """Return the strings (or bytes) of a column as text; bytes that are not UTF-8 become lone surrogates."""
    values = _plain(column).cast(pa.large_binary()).to_pylist()
    return [None if value is None else value.decode("utf-8", "surrogateescape") for value in values]


def scalars(column: pa.Array) -> list[str | None]:
    """Return the values of a scalar column as metadata strings: `true`/`false`, digits, shortest floats, ISO times.

    A time or duration out of range is null.
    """
    column = _plain(column)
    kind = column.type
    if is_string(kind):
        return texts(column)
    if types.is_float32(kind) or types.is_float16(kind):
        numbers: Any = column.to_numpy(zero_copy_only=False)
        valid = column.is_valid().to_pylist()
        return [str(number) if known else None for number, known in zip(numbers, valid, strict=True)]
    if types.is_decimal(kind) or types.is_duration(kind) or types.is_interval(kind):
        return list(map(_text_of, column))
    if types.is_temporal(kind):
        shown: list[str | None] = column.cast(pa.string()).to_pylist()
        shown = [None if value and value.startswith("<value") else value for value in shown]  # is out of range
        if types.is_timestamp(kind):
            return [stamp and _OFFSET.sub(r"\1:\2", stamp.replace(" ", "T", 1)) for stamp in shown]
        return shown
    return [scalar_text(value) for value in column.to_pylist()]


def _text_of(value: pa.Scalar) -> str | None:
    with suppress(OverflowError):
        return str(value.as_py()) if value.is_valid else None
    return None


def named_labels(column: pa.Array, names: list[str] | None) -> pa.Array:
    """Return the names of class labels, null for a number without a name; another column is returned unchanged."""
    if not names or not types.is_integer(column.type):
        return column
    labels = [names[n] if n is not None and 0 <= n < len(names) else None for n in column.to_pylist()]
    return pa.array(labels, pa.string())


def batch_rows(batch: pa.RecordBatch, file: SourceFile, first: int) -> list[Row | Broken]:
    """Return the rows of a batch, which are several for a conversation.

    Args:
        batch: the columns that `read_columns` returns; scalar columns become metadata, without null values.
        file: the file or shard, which names the column of the text and the `doc_id` of a row without one.
        first: the index of the batch's first row.
    """
    numbers = range(first, first + batch.num_rows)
    values = {field.name: batch.column(index) for index, field in enumerate(batch.schema)}
    column = values.pop(text_or_chat(values, file.text_column))
    text: list[Any] = column.to_pylist() if is_chat(column.type) else texts(column)
    doc_ids: list[str | None] = [None] * batch.num_rows
    if "doc_id" in values:
        column = values.pop("doc_id")
        doc_ids = texts(column) if is_bytes(column.type) else scalars(column)
    meta: list[dict[str, str]] = [{} for _ in numbers]
    for key, column in values.items():
        for record, value in zip(meta, scalars(column), strict=True):
            if value is not None:
                record[printable(key)] = value
    ids = [file.doc_id(number) if given is None else given for given, number in zip(doc_ids, numbers, strict=True)]
    return [row for value in zip(text, ids, meta, strict=True) for row in text_rows(*value)]


def rows_until_damage(
    file: SourceFile, batches: Iterator[pa.RecordBatch], is_damage: Callable[[Exception], bool], where: str = ""
) -> Rows:
    """Yield the rows of batches in order; the rest after damage is one `broken` row.

    Args:
        file: the file or shard.
        batches: its batches, as `batch_rows` takes them.
        is_damage: whether an error means damaged data; any other error is raised.
        where: the place of the batches in a dataset, followed by a comma and a space.
    """
    number = 0
    try:
        for batch in batches:
            yield from batch_rows(batch, file, number)
            number += batch.num_rows
    except Exception as error:
        if not is_damage(error):
            raise
        yield file.broken(f"{where}after row {number}", one_line(error), file.doc_id(number))


def _plain(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return _plain(column.dictionary_decode()) if isinstance(column, pa.DictionaryArray) else column
