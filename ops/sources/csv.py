"""Reading of rows from a CSV or TSV file with a header; cells are not converted."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ops.errors import InputError, one_line
from ops.sources.file_names import suffix
from ops.sources.lines import BOM, BrokenStream, decode_line, read_head, read_lines
from ops.sources.rows import EXCERPT, ROW_BYTES, Broken, Row, is_valid, printable, require_columns, to_row, values_of
from ops.sources.source import Part, Reading, SourceFile
from ops.sources.source_format import Rows, TextFormat

# The characters that may separate cells, the most usual one first.
_DELIMITERS = ",;\t|"
_HEAD = 1 << 16  # bytes


def read_csv(file: SourceFile, delimiter: str = "") -> Rows:
    """Yield the rows of a comma-separated file (RFC 4180), or one with another delimiter.

    Quoted cells may contain newlines, and an empty cell is null. `doc_id` is the cell of the column `doc_id`, or
    `name:row` with rows counted from 0. The other cells are metadata and are never converted.

    Args:
        file: the file; a row with a wrong number of cells or wrong quotes is `broken`. A row with wrong quotes may
            include the rows that follow. Its `doc_id` then names the lines, and its text is their text.
        delimiter: the character between cells. By default it is a tab in a `.tsv` file. In other files it is a comma,
            a semicolon, a tab or a vertical bar: the first of these that makes the text column a cell of the header.

    Raises:
        InputError: the header cannot be read, is not UTF-8, names a column twice or has no text column; or, under
            `fail`, a row is broken.
    """
    csv.field_size_limit(ROW_BYTES)  # a setting of the complete process; the default refuses cells of more than 128 kB
    delimiter = delimiter or _delimiter(file.path, file.text_column)
    record = ""  # the beginning of the current record as it is written

    def lines() -> Iterator[str]:
        nonlocal record
        for line in _lines(file.path):
            if len(record) < EXCERPT:
                record += line
            yield line

    records = csv.reader(lines(), strict=True, delimiter=delimiter)
    header = _header(file.path, records, file.text_column, delimiter)
    number = 0
    while True:
        doc_id, first, record = file.doc_id(number), records.line_num + 1, ""
        place = f"row {number} (line {first})"
        try:
            cells = next(records)
        except StopIteration:
            return
        except BrokenStream as error:
            yield file.broken(place, str(error), doc_id)
            return
        except csv.Error as error:
            if records.line_num > first:
                place = f"row {number} (lines {first} to {records.line_num})"
                doc_id += f" (lines {first} to {records.line_num})"
            yield file.broken(place, one_line(error), doc_id, record.strip())
        else:
            if not cells:
                yield Broken("", doc_id, "empty")
            elif len(cells) != len(header):
                damage = f"{len(cells)} cells, the header has {len(header)}"
                yield file.broken(place, damage, doc_id, delimiter.join(cells))
            else:
                values = {column: cell for column, cell in zip(header, cells, strict=True) if cell}
                text = values.pop(file.text_column, None)
                yield to_row(text, values.pop("doc_id", doc_id), values)
        number += 1


def _lines(path: str) -> Iterator[str]:
    return map(decode_line, read_lines(path))


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
    header = [cell or f"unnamed_{index}" for index, cell in enumerate(cells)]
    require_columns(path, header, text_column, delimiter.replace(",", ""))
    return header


class _Csv(TextFormat):
    def options(self, reading: Reading, files: Sequence[str]) -> Part:
        return {"delimiter": reading.delimiter} if reading.delimiter else {}

    def check_file(self, path: str, text_column: str, options: Part) -> None:
        """Refuse a file as every text format does, or because the delimiter that the user named gives one column."""
        header: list[str] = []
        if mark := options.get("delimiter"):
            with suppress(csv.Error, BrokenStream):  # the check of every text format reports these
                header = next(csv.reader(_lines(path), delimiter=mark), [])
        if len(header) == 1:
            raise InputError(
                f"{path}: --delimiter {mark!r} gives one column, {printable(header[0][:EXCERPT])!r}; "
                "name the character between the columns, or leave it out"
            )
        super().check_file(path, text_column, options)

    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        mark = options.get("delimiter") or _delimiter(path, text_column)
        return _header(path, csv.reader(_lines(path), strict=True, delimiter=mark), text_column, mark)

    def lines_of(self, rows: Sequence[Row | Broken]) -> int:
        """Return the number of lines of the header and of these rows, whose quoted values may span several lines."""
        return 1 + len(rows) + sum(value.count("\n") for row in rows for value in values_of(row))


CSV = _Csv(kind="csv", reader=read_csv)
