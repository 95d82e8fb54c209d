"""Rows of a text file: one a line."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ops.sources.lines import BrokenStream, read_lines, text_of
from ops.sources.rows import Broken, OnError, Row, broken, to_row


def read_txt(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None
) -> Iterator[Row | Broken]:
    """Every line of a text file as a document of its own, `doc_id` = `name:line` from 0 (`name`: the file's).

    A line that is not UTF-8 is `invalid_text`. Raises `InputError` where the file cannot be opened, and,
    under `fail`, where it breaks off (damaged compression). `text_column` has no meaning here.
    """
    name = name or os.path.basename(path)
    number = 0
    try:
        for line in read_lines(path):
            yield to_row(text_of(line).rstrip("\r\n"), f"{name}:{number}", {})
            number += 1
    except BrokenStream as error:
        yield broken(path, f"after line {number}", str(error), f"{name}:{number}", "", on_error)
