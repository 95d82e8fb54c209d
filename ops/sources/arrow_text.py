"""Columns of Arrow as Python strings, whatever type they have."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from pyarrow import types

from ops.sources.rows import printable, scalar_text

_OFFSET = re.compile(r"([+-]\d\d)(\d\d)$")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values: of a dictionary's entries, of an extension's storage."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    return plain_type(kind.value_type) if types.is_dictionary(kind) else kind


def is_string(kind: pa.DataType) -> bool:
    """Whether the values are strings."""
    kind = plain_type(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Whether the values are bytes, which may be UTF-8."""
    kind = plain_type(kind)
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def is_scalar(kind: pa.DataType) -> bool:
    """Whether the values can be metadata: strings, booleans, numbers, times; no bytes and nothing nested."""
    plain = plain_type(kind)
    numeric = types.is_boolean(plain) or types.is_integer(plain) or types.is_floating(plain) or types.is_decimal(plain)
    return is_string(plain) or numeric or types.is_temporal(plain)


def texts(column: pa.Array) -> list[str | None]:
    """The strings (or bytes) of a column; what is not UTF-8 becomes lone surrogates, never an error."""
    values = _plain(column).cast(pa.large_binary()).to_pylist()
    return [None if value is None else value.decode("utf-8", "surrogateescape") for value in values]


def scalars(column: pa.Array) -> list[str | None]:
    """The values of a scalar column as metadata: `true`/`false`, digits, shortest floats, ISO times."""
    column = _plain(column)
    kind = column.type
    if is_string(kind):
        return [None if value is None else printable(value) for value in texts(column)]
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


def _plain(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return _plain(column.dictionary_decode()) if isinstance(column, pa.DictionaryArray) else column


def _iso(stamp: str) -> str:
    return _OFFSET.sub(r"\1:\2", stamp.replace(" ", "T", 1))
