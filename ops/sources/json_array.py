"""Reading of rows from a JSON file: an array of objects, or objects one after another."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from ops.errors import one_line
from ops.sources.json_records import JsonRecords
from ops.sources.lines import BrokenStream, read_text
from ops.sources.rows import EXCERPT, ROW_BYTES, Broken, OnError, Row, broken
from ops.sources.source_format import Piece
from ops.sources.text_format import TextFormat

_SPACE = " \t\r\n"


def read_json(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None
) -> Iterator[Row | Broken]:
    """Yield the objects of a JSON file as rows, as `read_jsonl` does; `doc_id` is else `name:object`, counted from 0.

    The file is read a block at a time, so that memory does not grow with its length.

    Args:
        path: the file: an array of objects, or objects with white space between them, such as one a line.
        text_column: the key of the text.
        on_error: under `reject`, a value that is not an object is `broken`, and so is the rest of a file after a place
            that is not JSON.
        name: the file's name in `doc_id`; by default its own name.

    Raises:
        InputError: none of the first 100 objects has the text column; or, under `fail`, a place is broken.
    """
    name = name or os.path.basename(path)
    records = JsonRecords(path, text_column, on_error, checks=True)
    number = 0
    values = _Values(read_text(path))
    try:
        for record in values:
            yield from records.rows(record, f"{name}:{number}", f"record {number}", "")
            number += 1
    except (BrokenStream, ValueError, RecursionError) as error:
        found = str(error) if isinstance(error, BrokenStream) else f"not valid JSON ({one_line(error)})"
        rest = values.text[values.at : values.at + EXCERPT].strip()
        yield broken(path, f"after record {number}", found, f"{name}:{number}", rest, on_error)
    records.finish()


class _Values:
    """The values of a JSON array, or of a text with several JSON values.

    Attributes:
        text, at: the part of the text in memory, and the position in it up to which values were read.
    """

    def __init__(self, blocks: Iterator[str]) -> None:
        self.blocks = blocks
        self.text, self.at, self.ended = "", 0, False

    def __iter__(self) -> Iterator[Any]:
        is_array = self._next() == "["
        self.at += is_array
        begins = True
        while (mark := self._next()) and not (is_array and mark == "]"):
            if is_array and not begins:
                if mark != ",":
                    raise ValueError(f"expected ',' or ']' after a value, found {mark!r}")
                self.at += 1
                self._next()
            begins = False
            yield self._value()
        if is_array and not mark:
            raise ValueError("the file ends within the array")
        self.at += is_array
        if rest := self._next():
            raise ValueError(f"{rest!r} after the end of the array")

    def _next(self) -> str:
        """Skip white space and return the next character; an empty text at the end of the file."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text) or not self._read_on(1):
                return self.text[self.at : self.at + 1]

    def _value(self) -> Any:
        """Return the next value, after reading as much as it needs."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except ValueError:
                if not self._read_on(len(self.text) - self.at + 1):
                    raise
                continue
            # A number that ends with the block may go on in the next one.
            if end < len(self.text) or not self._read_on(1):
                self.at = end
                return value

    def _read_on(self, characters: int) -> bool:
        """Add this many characters or more, and drop those that were read; return whether there were any."""
        if len(self.text) - self.at > ROW_BYTES:
            raise BrokenStream(f"a value of more than {ROW_BYTES} characters, or not valid JSON")
        parts, length = [self.text[self.at :]], 0
        while length < characters and not self.ended:
            block = next(self.blocks, "")
            self.ended = not block
            parts.append(block)
            length += len(block)
        self.text, self.at = "".join(parts), 0
        return length > 0


_DECODER = json.JSONDecoder()


class _Json(TextFormat):
    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the approximate number of bytes of these rows: that of their values."""
        values = ((row.text, *row.meta.values()) if isinstance(row, Row) else (row.text,) for row in rows)
        return float(sum(len(value.encode()) + _AROUND for own in values for value in own))


_AROUND = 12  # bytes of a key and its marks

JSON = _Json(kind="json", suffixes=(".json",), reader=read_json)
