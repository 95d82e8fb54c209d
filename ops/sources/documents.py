"""Reading of any file of text as one document, with its white space."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ops.sources.lines import BrokenStream, read_head, read_text
from ops.sources.rows import Broken, OnError, Row, broken, to_row
from ops.sources.source_format import Part, Piece
from ops.sources.text_format import TextFormat

_MOST_CHARACTERS = 1 << 20


def read_document(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None
) -> Iterator[Row | Broken]:
    """Yield the text of a file as it is, with `doc_id` = `name`.

    A text of more than a million characters is several rows, cut at line ends, so that memory does not grow with it.

    Args:
        path: the file; a row that is not UTF-8 is `invalid_text`.
        text_column: not used here; every reader accepts it.
        on_error: under `reject`, the rest of a file that cannot be read (damaged compression) is one `broken` row.
        name: the file's name in `doc_id`; by default its own name.

    Raises:
        InputError: the file cannot be opened; or, under `fail`, the rest of the file cannot be read.
    """
    name = name or os.path.basename(path)
    text = ""
    try:
        for block in read_text(path):
            text += block
            while len(text) > _MOST_CHARACTERS:
                cut = text.rfind("\n", 0, _MOST_CHARACTERS) + 1 or _MOST_CHARACTERS
                yield to_row(text[:cut], name, {})
                text = text[cut:]
    except BrokenStream as error:
        yield to_row(text, name, {})
        yield broken(path, "at its end", str(error), name, "", on_error)
    else:
        if text:
            yield to_row(text, name, {})


class _Documents(TextFormat):
    def check_file(self, path: str, text_column: str, options: Part) -> None:
        """Refuse a file that cannot be opened. One that is not text is a reject, because a glob may match some."""
        read_head(path, 1)

    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        return []

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the number of bytes of these rows."""
        return float(sum(len(row.text.encode()) for row in rows))


DOCUMENTS = _Documents(kind="document", reader=read_document)
