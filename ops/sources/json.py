"""Reading of rows from JSON: an object per line, an array of objects, or objects one after another."""

import json
from collections.abc import Iterator
from typing import Any

from ops.errors import one_line
from ops.sources.chat import text_or_chat, text_rows
from ops.sources.lines import BrokenStream, decode_line, read_lines, read_text
from ops.sources.rows import EXCERPT, ROW_BYTES, Broken, Row, printable, require_columns, scalar_text
from ops.sources.source import SourceFile
from ops.sources.source_format import Rows, TextFormat

# After this many objects without it, the text column counts as missing; keys with null values are often omitted.
_OBJECTS_WITHOUT_TEXT = 100
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


def read_jsonl(file: SourceFile, first_byte: int = 0, stop_byte: int | None = None, first_row: int = 0) -> Rows:
    """Yield the objects of a JSON Lines file as rows.

    `doc_id` is the value of the key `doc_id`, or `name:line` with lines counted from 0. Other scalar values are
    metadata. A blank line or a null text is rejected as `empty`.

    Args:
        file: the file; a line that is not a JSON object is `broken`.
        first_byte, stop_byte: the range of the file that is read, as `read_lines` takes it.
        first_row: number of lines of the file before the range.

    Raises:
        InputError: none of the first 100 objects has the text column; or, under `fail`, a line is broken.
    """
    number = first_row
    # The worker of the first range checks the beginning of the file.
    records = _Records(file, checks=not first_byte)
    try:
        for line in read_lines(file.path, first_byte, stop_byte):
            doc_id = file.doc_id(number)
            number += 1
            text = decode_line(line).strip()
            if not text:
                yield Broken("", doc_id, "empty")
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                yield file.broken(f"line {number}", f"not valid JSON ({one_line(error)})", doc_id, text)
                continue
            yield from records.rows(record, doc_id, f"line {number}", text)
    except BrokenStream as error:
        yield file.broken(f"after line {number}", str(error), file.doc_id(number))
    if stop_byte is None:
        records.finish()


def read_json(file: SourceFile) -> Rows:
    """Yield the objects of a JSON file as rows, as `read_jsonl` does; `doc_id` is else `name:object`, counted from 0.

    The file is an array of objects, or objects with white space between them, such as one a line. It is read a block at
    a time, so that memory does not grow with its length.

    Args:
        file: the file; a value that is not an object is `broken`, and so is the rest after a place that is not JSON.

    Raises:
        InputError: none of the first 100 objects has the text column; or, under `fail`, a place is broken.
    """
    records = _Records(file, checks=True)
    number = 0
    values = _Values(read_text(file.path))
    try:
        for record in values:
            yield from records.rows(record, file.doc_id(number), f"record {number}", "")
            number += 1
    except (BrokenStream, ValueError, RecursionError) as error:
        damage = str(error) if isinstance(error, BrokenStream) else f"not valid JSON ({one_line(error)})"
        rest = values.text[values.at : values.at + EXCERPT].strip()
        yield file.broken(f"after record {number}", damage, file.doc_id(number), rest)
    records.finish()


class _Records:
    """Turns the values of a file into rows; if it `checks`, the first 100 objects must have the text column."""

    def __init__(self, file: SourceFile, checks: bool) -> None:
        self.file = file
        self.objects = 0
        self.columns: dict[str, None] | None = {} if checks else None

    def rows(self, record: object, doc_id: str, place: str, text: str) -> list[Row | Broken]:
        """Return the rows of a value, which are several if its text is a conversation.

        Args:
            record: the value; if it is no object, it is `broken`.
            doc_id: the document of an object that names none.
            place, text: the place of the value in the file, and the value as it is written there.
        """
        if not isinstance(record, dict):
            return [self.file.broken(place, f"a JSON {type(record).__name__}, expected an object", doc_id, text)]
        text_column = self.file.text_column
        columns = {key for key, value in record.items() if key == text_column or isinstance(value, list | None)}
        text_column = text_or_chat(columns, text_column)
        if self.columns is not None:
            self.objects += 1
            self.columns.update(dict.fromkeys(map(printable, record)))
            if text_column in record:
                self.columns = None
            elif self.objects == _OBJECTS_WITHOUT_TEXT:
                self.finish()
        value = record.pop(text_column, None)
        named_id = scalar_text(record.pop("doc_id", None))
        meta = {key: scalar for key, other in record.items() if (scalar := scalar_text(other)) is not None}
        return text_rows(value, doc_id if named_id is None else named_id, meta)

    def finish(self) -> None:
        """Refuse the file if it has objects and none of those so far has the text column."""
        if self.columns is not None and self.objects:
            require_columns(self.file.path, list(self.columns), self.file.text_column)


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


JSONL = TextFormat(kind="jsonl", reader=read_jsonl, in_ranges=True)
JSON = TextFormat(kind="json", reader=read_json, around=len('"text": "", '))
