"""The output of every reader: rows with text, and unusable rows with the reason; and the check of their columns."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from typing import Literal, NamedTuple

from ops.errors import InputError

OnError = Literal["fail", "reject"]
EXCERPT = 200  # characters
ROW_BYTES = 1 << 26  # a longer line counts as damage, so that memory stays bounded
_INVALID = re.compile("[\x00\ud800-\udfff]")


class Row(NamedTuple):
    """A row with valid text (encodable as UTF-8, without NUL, not blank), its document's id and its metadata."""

    text: str
    doc_id: str
    meta: dict[str, str]


class Broken(NamedTuple):
    """An unusable row: the start of its text and the reason, such as `empty`, `not_text` or `broken`."""

    text: str
    doc_id: str
    reason: str


def to_row(text: object, doc_id: str, meta: dict[str, str]) -> Row | Broken:
    """Return the row for a value of the text column; `Broken` if the value is null, blank, no text or invalid.

    A row is also `Broken` if its document's id or a metadata key or value is invalid. Otherwise two names that differ
    only in bytes that are not UTF-8 would become the same name.
    """
    if not isinstance(text, str) and text not in (None, []):
        shown = f"({type(text).__name__})" if isinstance(text, list | dict) else str(text)
        return Broken(excerpt(shown), printable(doc_id), "not_text")
    if not isinstance(text, str) or not text.strip():
        return Broken("", printable(doc_id), "empty")
    if not (
        is_valid(text) and is_valid(doc_id) and all(is_valid(key) and is_valid(value) for key, value in meta.items())
    ):
        return Broken(excerpt(text), printable(doc_id), "invalid_text")
    return Row(text, doc_id, meta)


def values_of(row: Row | Broken, given: Mapping[str, str] | None = None) -> list[str]:
    """Return the text of a row and the values of its metadata, without those that are `given` to every row."""
    meta, given = row.meta if isinstance(row, Row) else {}, given or {}
    return [row.text, *(value for key, value in meta.items() if given.get(key) != value)]


def is_valid(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8 and contains no NUL."""
    return "\0" not in text and (text.isascii() or _INVALID.search(text) is None)


def excerpt(text: str) -> str:
    """Return the first 200 characters of a text, with invalid characters replaced."""
    return printable(text[:EXCERPT])


def printable(text: str) -> str:
    """Return the text with every NUL and lone surrogate replaced by U+FFFD."""
    return _INVALID.sub("\ufffd", text)


def scalar_text(value: object) -> str | None:
    """Return a scalar as metadata: `true`/`false`, digits, `repr` of floats, ISO times; None for null or nested."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    return value.isoformat() if isinstance(value, datetime | date | time) else None


def require_columns(path: str, columns: Sequence[str], text_column: str, delimiter: str = "") -> None:
    """Refuse columns that lack the text column or contain a name more than once.

    Args:
        path: the source that the user named, for the error message.
        columns: the names of all columns.
        text_column: the name of the column that contains the text.
        delimiter: the character by which the columns of a text were separated, for the error message; may be empty.

    Raises:
        InputError: the text column is missing, or a name occurs more than once; the message names the column.
    """
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise InputError(f"{path}: the column {twice[0]!r} occurs {columns.count(twice[0])} times; rename all but one")
    if text_column not in columns:
        names = ", ".join(repr(column) for column in columns[:20]) + (", ..." if len(columns) > 20 else "")
        how = f" (between {delimiter!r}; --delimiter names another)" if delimiter else ""
        raise InputError(
            f"{path}: no column {text_column!r}; it has {names or 'none'}{how}; name the text column with --text-column"
        )
