"""What every reader yields: rows with text, and rows that cannot be used, with the reason."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Literal, NamedTuple

from ops.errors import InputError

OnError = Literal["fail", "reject"]
EXCERPT = 200  # characters
ROW_BYTES = 1 << 26  # a longer line is taken for a broken file, so that memory stays bounded
_INVALID = re.compile("[\x00\ud800-\udfff]")


class Row(NamedTuple):
    """A row with valid text (UTF-8 can encode it, no NUL, not blank), its document and its metadata."""

    text: str
    doc_id: str
    meta: dict[str, str]


class Broken(NamedTuple):
    """A row that cannot be used: the start of its text, and why (`empty`, `invalid_text` or `broken`)."""

    text: str
    doc_id: str
    reason: str


def to_row(text: object, doc_id: str, meta: dict[str, str]) -> Row | Broken:
    """Return the row for a value of the text column; `Broken` if the value is null, blank, no string or not valid.

    A row whose document or metadata, keys and values, are not valid is as broken: names that differ in bytes that are
    not UTF-8 would become one.
    """
    if text is None:
        return Broken("", printable(doc_id), "empty")
    if not isinstance(text, str):
        shown = f"({type(text).__name__})" if isinstance(text, list | dict) else str(text)
        return Broken(excerpt(shown), printable(doc_id), "invalid_text")
    if not text.strip():
        return Broken("", printable(doc_id), "empty")
    if not (
        is_valid(text) and is_valid(doc_id) and all(is_valid(key) and is_valid(value) for key, value in meta.items())
    ):
        return Broken(excerpt(text), printable(doc_id), "invalid_text")
    return Row(text, doc_id, meta)


def is_valid(text: str) -> bool:
    """Tell whether a text can be written as UTF-8 and holds no NUL."""
    return "\0" not in text and (text.isascii() or _INVALID.search(text) is None)


def broken(path: str, place: str, found: str, doc_id: str, text: str, on_error: OnError) -> Broken:
    """Return the record of a place whose structure is broken, where the user wants to go on (`reject`).

    Args:
        path: the file.
        place: where in it.
        found: what is wrong there.
        doc_id: the row's.
        text: what could be read of it.
        on_error: `fail` or `reject`.

    Raises:
        InputError: under `fail`, naming the place.
    """
    if on_error == "fail":
        raise InputError(f"{path}: {place}: {found}; repair the file, or skip the rest with --on-error reject")
    return Broken(excerpt(text), doc_id, "broken")


def excerpt(text: str) -> str:
    """Return the first 200 characters, those that are not valid replaced."""
    return printable(text[:EXCERPT])


def printable(text: str) -> str:
    """Return the text with every NUL and lone surrogate replaced by U+FFFD."""
    return _INVALID.sub("\ufffd", text)


def scalar_text(value: object) -> str | None:
    """Return a scalar as metadata: `true`/`false`, digits, `repr` of floats, ISO times; None for null and nested."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    return value.isoformat() if isinstance(value, datetime | date | time) else None
