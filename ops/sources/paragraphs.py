"""Reading of rows from a text file with hard line breaks: one row per paragraph, and the recognition of such a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ops.sources.lines import BrokenStream, decode_line, read_head, read_lines
from ops.sources.rows import Broken, OnError, Row, broken, to_row
from ops.sources.source_format import Part, Piece, Reading, Source
from ops.sources.text_format import TextFormat

FILES = 20  # from this number of files on, a file is a document
BLOCK = 40  # paragraphs of a document where there are fewer files
_MOST_CHARACTERS = 1 << 20  # a longer paragraph is cut at a line end
_HEAD = 1 << 16  # bytes of a file from which hard line breaks are recognised
_PAIRS = 20  # of neighbouring lines, the minimum
_WIDEST, _BAND, _CONTINUED = 120, 5, 0.4  # characters; a fifth of a line; share of lines


def read_paragraphs(
    path: str, *, text_column: str = "text", on_error: OnError = "fail", name: str | None = None, of_file: bool = False
) -> Iterator[Row | Broken]:
    """Yield the paragraphs of a text file, which blank lines separate; their line ends become spaces.

    Args:
        path: the file; a paragraph that is not UTF-8 is `invalid_text`.
        text_column: not used here; every reader accepts it.
        on_error: under `reject`, the rest of a file that cannot be read (damaged compression) is one `broken` row.
        name: the file's name in `doc_id`; by default its own name.
        of_file: whether `doc_id` is `name`; otherwise it is `name:block` with blocks of 40 paragraphs counted from 0.

    Raises:
        InputError: the file cannot be opened; or, under `fail`, the rest of the file cannot be read.
    """
    name = name or os.path.basename(path)
    number = 0

    def doc_id() -> str:
        return name if of_file else f"{name}:{number // BLOCK}"

    try:
        for text in _paragraphs(path):
            yield to_row(text, doc_id(), {})
            number += 1
    except BrokenStream as error:
        yield broken(path, f"after paragraph {number}", str(error), doc_id(), "", on_error)


def _paragraphs(path: str) -> Iterator[str]:
    lines: list[str] = []
    characters, damage = 0, None
    try:
        for raw in read_lines(path):
            line = decode_line(raw).strip()
            if lines and (not line or characters > _MOST_CHARACTERS):
                yield " ".join(lines)
                lines, characters = [], 0
            if line:
                lines.append(line)
                characters += len(line)
    except BrokenStream as error:
        damage = error
    if lines:
        yield " ".join(lines)
    if damage is not None:
        raise damage


def hard_broken(source: Source) -> bool:
    """Return whether the lines of a source's first file look as if they were broken within sentences."""
    return source.kind == "txt" and has_hard_breaks(read_head(source.files[0], _HEAD).decode("utf-8", "ignore"))


def has_hard_breaks(text: str) -> bool:
    r"""Return whether most lines of a text end within a narrow band of length and go on in lower case in the next line.

    >>> has_hard_breaks("He walked along the river until the\nsun was low and the first lamps were\n" * 15)
    True
    """
    pairs = [(a, b) for a, b in pairwise(map(str.strip, text.splitlines())) if a and b]
    if len(pairs) < _PAIRS:
        return False
    longest = sorted(len(a) for a, _ in pairs)[int(len(pairs) * 0.9)]
    if longest > _WIDEST:
        return False
    full = [b for a, b in pairs if longest - longest // _BAND <= len(a) <= longest + longest // (4 * _BAND)]
    return 2 * len(full) > len(pairs) and sum(b[0].islower() for b in full) > _CONTINUED * len(full)


class _Paragraphs(TextFormat):
    def options(self, reading: Reading, files: Sequence[str]) -> Part:
        return {"of_file": len(files) >= FILES}

    def file_columns(self, path: str, text_column: str, options: Part) -> list[str]:
        return []

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the approximate number of bytes of these rows: their text, and a blank line."""
        return float(sum(len(row.text.encode()) + 2 for row in rows))


PARAGRAPHS = _Paragraphs(kind="paragraphs", reader=read_paragraphs)
