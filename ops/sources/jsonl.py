"""Reading of rows from a file with one JSON object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from ops.errors import one_line
from ops.sources.json_records import JsonRecords
from ops.sources.lines import BrokenStream, decode_line, read_lines
from ops.sources.rows import Broken, OnError, Row, broken
from ops.sources.text_format import TextFormat


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
    number = first_row
    # The worker of the first range checks the beginning of the file.
    records = JsonRecords(path, text_column, on_error, checks=not first_byte)
    try:
        for line in read_lines(path, first_byte, stop_byte):
            doc_id = f"{name}:{number}"
            number += 1
            text = decode_line(line).strip()
            if not text:
                yield Broken("", doc_id, "empty")
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                problem = f"not valid JSON ({one_line(error)})"
                yield broken(path, f"line {number}", problem, doc_id, text, on_error)
                continue
            yield from records.rows(record, doc_id, f"line {number}", text)
    except BrokenStream as error:
        yield broken(path, f"after line {number}", str(error), f"{name}:{number}", "", on_error)
    if stop_byte is None:
        records.finish()


JSONL = TextFormat(kind="jsonl", suffixes=(".jsonl", ".ndjson"), reader=read_jsonl, in_ranges=True)
