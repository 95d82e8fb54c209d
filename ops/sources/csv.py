"""Rows of a CSV file with a header, every cell as it is written."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator

from ops.errors import InputError, one_line
from ops.sources.columns import require_columns
from ops.sources.lines import BrokenStream, decode_line, read_lines
from ops.sources.rows import ROW_BYTES, Broken, OnError, Row, broken, printable, to_row


def read_csv(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None
) -> Iterator[Row | Broken]:
    """Return the rows of a comma-separated file (RFC 4180): quoted cells may hold newlines, an empty cell is null.

    `doc_id` is the cell of that column, or `name:row` from 0; the other cells are metadata, never converted.

    Args:
        path: the file.
        text_column: the column of the text.
        on_error: under `reject` a row with a wrong number of cells or wrong quotes is `broken`.
        name: of the file in `doc_id`; by default its own.

    Raises:
        InputError: the header cannot be read, names a column twice or has no text column; under `fail` a row is
            broken.
    """
    name = name or os.path.basename(path)
    csv.field_size_limit(ROW_BYTES)  # a setting of the whole process; the default refuses a cell of 128 kB
    records = csv.reader((decode_line(line) for line in read_lines(path)), strict=True)
    header = _header(path, records, text_column)
    number = 0
    while True:
        doc_id = f"{name}:{number}"
        place = f"row {number} (line {records.line_num + 1})"
        try:
            cells = next(records)
        except StopIteration:
            return
        except BrokenStream as error:
            yield broken(path, place, str(error), doc_id, "", on_error)
            return
        except csv.Error as error:
            yield broken(path, place, one_line(error), doc_id, "", on_error)
        else:
            if not cells:
                yield Broken("", doc_id, "empty")
            elif len(cells) != len(header):
                found = f"{len(cells)} cells, the header has {len(header)}"
                yield broken(path, place, found, doc_id, ",".join(cells), on_error)
            else:
                yield _row(header, cells, text_column, doc_id)
        number += 1


def _header(path: str, records: Iterator[list[str]], text_column: str) -> list[str]:
    try:
        cells = next(records)
    except StopIteration:
        raise InputError(f"{path}: the file is empty; expected a header line with the column {text_column!r}") from None
    except (csv.Error, BrokenStream) as error:
        raise InputError(
            f"{path}: the header line cannot be read ({one_line(error)}); expected CSV with a header"
        ) from error
    header = [printable(cell) or f"unnamed_{place}" for place, cell in enumerate(cells)]
    require_columns(path, header, text_column)
    return header


def _row(header: list[str], cells: list[str], text_column: str, doc_id: str) -> Row | Broken:
    values = {column: cell for column, cell in zip(header, cells, strict=True) if cell}
    text = values.pop(text_column, None)
    doc_id = printable(values.pop("doc_id", doc_id))
    return to_row(text, doc_id, {column: printable(cell) for column, cell in values.items()})
