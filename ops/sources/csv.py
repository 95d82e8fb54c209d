"""Reading of rows from a CSV or TSV file with a header; cells are not converted."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ops.errors import InputError, one_line
from ops.sources.columns import require_columns
from ops.sources.file_names import suffix
from ops.sources.lines import BOM, BrokenStream, decode_line, read_head, read_lines
from ops.sources.rows import EXCERPT, ROW_BYTES, Broken, OnError, Row, broken, is_valid, printable, to_row
from ops.sources.source_format import Part, Reading
from ops.sources.text_format import TextFormat

# The characters that may separate cells, the most usual one first.
_DELIMITERS = ",;\t|"
_HEAD = 1 << 16  # bytes


def read_csv(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None, delimiter: str = ""
) -> Iterator[Row | Broken]:
    """Yield the rows of a comma-separated file (RFC 4180), or one with another delimiter.

    Quoted cells may contain newlines, and an empty cell is null. `doc_id` is the cell of the column `doc_id`, or
    `name:row` with rows counted from 0. The other cells are metadata and are never converted.

    Args:
        path: the file.
        text_column: the column of the text.
        on_error: under `reject`, a row with a wrong number of cells or wrong quotes is `broken`. A row with wrong
            quotes may include the rows that follow. Its `doc_id` then names the lines, and its text is their text.
        name: the file's name in `doc_id`; by default its own name.
        delimiter: the character between cells. By default it is a tab in a `.tsv` file. In other files it is a comma,
            a semicolon, a tab or a vertical bar: the first of these that makes the text column a cell of the header.

    Raises:
        InputError: the header cannot be read, is not UTF-8, names a column twice or has no text column; or, under
            `fail`, a row is broken.
    """
    name = name or os.path.basename(path)
    csv.field_size_limit(ROW_BYTES)  # a setting of the complete process; the default refuses cells of more than 128 kB
    lines, delimiter = _Lines(path), delimiter or _delimiter(path, text_column)
    records = csv.reader(lines, strict=True, delimiter=delimiter)
    header = _header(path, records, text_column, delimiter)
    number = 0
    while True:
        doc_id = f"{name}:{number}"
        lines.begin()
        place = f"row {number} (line {lines.first})"
        try:
            cells = next(records)
        except StopIteration:
            return
        except BrokenStream as error:
            yield broken(path, place, str(error), doc_id, "", on_error)
            return
        except csv.Error as error:
            if lines.last > lines.first:
                place = f"row {number} (lines {lines.first} to {lines.last})"
                doc_id += f" (lines {lines.first} to {lines.last})"
            yield broken(path, place, one_line(error), doc_id, lines.text.strip(), on_error)
        else:
            if not cells:
                yield Broken("", doc_id, "empty")
            elif len(cells) != len(header):
                found = f"{len(cells)} cells, the header has {len(header)}"
                yield broken(path, place, found, doc_id, delimiter.join(cells), on_error)
            else:
                yield _row(header, cells, text_column, doc_id)
        number += 1


class _Lines:
    """The lines of a file as text, with the position and the first characters of the current record.

    Attributes:
        first, last: the first and last line of the current record so far, counted from 1.
        text: the start of the text of these lines.
    """

    def __init__(self, path: str) -> None:
        self._lines = read_lines(path)
        self.first, self.last, self.text = 1, 0, ""

    def begin(self) -> None:
        """Start a new record at the next line."""
        self.first, self.text = self.last + 1, ""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = decode_line(next(self._lines))
        self.last += 1
        if len(self.text) < EXCERPT:
            self.text += line
        return line


def _delimiter(path: str, text_column: str) -> str:
    """Return the delimiter of a file; if none makes the text column a cell of the header, the one that `csv` finds."""
    if suffix(path) == ".tsv":
        return "\t"
    line = next(iter(decode_line(read_head(path, _HEAD).removeprefix(BOM)).splitlines()), "")
    for mark in _DELIMITERS:
        with suppress(csv.Error):
            if text_column in next(csv.reader([line], delimiter=mark), []):
                return mark
    with suppress(csv.Error):
        return csv.Sniffer().sniff(line, _DELIMITERS).delimiter
    return _DELIMITERS[0]


def _header(path: str, records: Iterator[list[str]], text_column: str, delimiter: str) -> list[str]:
    try:
        cells = next(records)
    except StopIteration:
        raise InputError(f"{path}: the file is empty; expected a header line with the column {text_column!r}") from None
    except (csv.Error, BrokenStream) as error:
        raise InputError(
            f"{path}: the header line cannot be read ({one_line(error)}); expected CSV with a header"
        ) from error
    wrong = [printable(cell) for cell in cells if not is_valid(cell)]
    if wrong:
        raise InputError(f"{path}: the column {wrong[0]!r} is not UTF-8 in the header; write the file as UTF-8")
    header = [cell or f"unnamed_{place}" for place, cell in enumerate(cells)]
    require_columns(path, header, text_column, delimiter.replace(",", ""))
    return header


def _row(header: list[str], cells: list[str], text_column: str, doc_id: str) -> Row | Broken:
    values = {column: cell for column, cell in zip(header, cells, strict=True) if cell}
    text = values.pop(text_column, None)
    return to_row(text, values.pop("doc_id", doc_id), values)


class _Csv(TextFormat):
    def options(self, reading: Reading, files: Sequence[str]) -> Part:
        return {"delimiter": reading.delimiter} if reading.delimiter else {}

    def check_file(self, path: str, text_column: str, options: Part) -> None:
        """Refuse a file as every text format does, or because the delimiter that the user named gives one column."""
        mark = options.get("delimiter")
        if mark and len(header := next(csv.reader(_Lines(path), delimiter=mark), [])) == 1:
            raise InputError(
                f"{path}: --delimiter {mark!r} gives one column, {printable(header[0][:EXCERPT])!r}; "
                "name the character between the columns, or leave it out"
            )
        super().check_file(path, text_column, options)

    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        mark = options.get("delimiter") or _delimiter(path, text_column)
        return _header(path, csv.reader(_Lines(path), strict=True, delimiter=mark), text_column, mark)

    def lines_of(self, rows: Sequence[Row | Broken]) -> int:
        """Return the number of lines of the header and of these rows, whose quoted values may span several lines."""
        return 1 + len(rows) + sum(_inner_lines(row) for row in rows)


def _inner_lines(row: Row | Broken) -> int:
    values = (row.text, *row.meta.values()) if isinstance(row, Row) else (row.text,)
    return sum(value.count("\n") for value in values)


CSV = _Csv(kind="csv", suffixes=(".csv", ".tsv"), reader=read_csv)
