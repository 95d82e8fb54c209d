"""Reading of rows from a text file, one row per line."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ops.sources.lines import BrokenStream, decode_line, read_lines
from ops.sources.rows import Broken, OnError, Row, broken, to_row
from ops.sources.source_format import Part
from ops.sources.text_format import TextFormat


def read_txt(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None,
    first_byte: int = 0, stop_byte: int | None = None, first_row: int = 0,
) -> Iterator[Row | Broken]:  # fmt: skip
    """Yield every line of a text file as a separate document, with `doc_id` = `name:line` counted from 0.

    Args:
        path: the file; a line that is not UTF-8 is `invalid_text`.
        text_column: not used here; every reader accepts it.
        on_error: under `reject`, the rest of a file that cannot be read (damaged compression) is one `broken` row.
        name: the file's name in `doc_id`; by default its own name.
        first_byte, stop_byte: the range of the file that is read, as `read_lines` takes it.
        first_row: number of lines of the file before the range.

    Raises:
        InputError: the file cannot be opened; or, under `fail`, the rest of the file cannot be read.
    """
    name = name or os.path.basename(path)
    number = first_row
    try:
        for line in read_lines(path, first_byte, stop_byte):
            yield to_row(decode_line(line).rstrip("\r\n"), f"{name}:{number}", {})
            number += 1
    except BrokenStream as error:
        yield broken(path, f"after line {number}", str(error), f"{name}:{number}", "", on_error)


class _Txt(TextFormat):
    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        return []


TXT = _Txt(kind="txt", suffixes=(".txt",), reader=read_txt, in_ranges=True)
