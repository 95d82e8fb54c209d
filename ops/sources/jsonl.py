"""Reading of rows from a file with one JSON object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from ops.errors import one_line
from ops.sources.columns import require_columns
from ops.sources.lines import BrokenStream, decode_line, read_lines
from ops.sources.rows import Broken, OnError, Row, broken, printable, scalar_text, to_row
from ops.sources.text_format import TextFormat

# After this many objects without it, the text column counts as missing; keys with null values are often omitted.
_OBJECTS_WITHOUT_TEXT = 100


def read_jsonl(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None,
    first_byte: int = 0, stop_byte: int | None = None, first_row: int = 0,
) -> Iterator[Row | Broken]:  # fmt: skip
    """Yield the objects of a JSON Lines file as rows.

    `doc_id` is the value of the key `doc_id`, or `name:line` with lines counted from 0. Other scalar values are
    metadata. A blank line or a null text is rejected as `empty`.

    Args:
        path: the file.
        text_column: the key of the text.
        on_error: under `reject`, a line that is not a JSON object is `broken`.
        name: the file's name in `doc_id`; by default its own name.
        first_byte, stop_byte: the range of the file that is read, as `read_lines` takes it.
        first_row: number of lines of the file before the range.

    Raises:
        InputError: none of the first 100 objects has the text column; or, under `fail`, a line is broken.
    """
    name = name or os.path.basename(path)
    number, objects = first_row, 0
    # The worker of the first range checks the beginning of the file.
    columns: dict[str, None] | None = None if first_byte else {}
    try:
        for line in read_lines(path, first_byte, stop_byte):
            doc_id = f"{name}:{number}"
            number += 1
            text = decode_line(line)
            if not text.strip():
                yield Broken("", doc_id, "empty")
                continue
            try:
                record = json.loads(text)
                problem = None if isinstance(record, dict) else f"a JSON {type(record).__name__}, expected an object"
            except (ValueError, RecursionError) as error:
                problem = f"not valid JSON ({one_line(error)})"
            if problem is not None:
                yield broken(path, f"line {number}", problem, doc_id, text.strip(), on_error)
                continue
            if columns is not None:
                objects += 1
                columns.update(dict.fromkeys(map(printable, record)))
                if text_column in record:
                    columns = None
                elif objects == _OBJECTS_WITHOUT_TEXT:
                    require_columns(path, list(columns), text_column)
            yield _row(record, text_column, doc_id)
    except BrokenStream as error:
        yield broken(path, f"after line {number}", str(error), f"{name}:{number}", "", on_error)
    if columns is not None and objects and stop_byte is None:
        require_columns(path, list(columns), text_column)


def _row(record: dict[str, object], text_column: str, doc_id: str) -> Row | Broken:
    text = record.pop(text_column, None)
    own = scalar_text(record.pop("doc_id", None))
    values = {key: scalar_text(value) for key, value in record.items()}
    return to_row(
        text,
        doc_id if own is None else own,
        {key: value for key, value in values.items() if value is not None},
    )


JSONL = TextFormat(kind="jsonl", suffixes=(".jsonl", ".ndjson"), reader=read_jsonl, in_ranges=True)
