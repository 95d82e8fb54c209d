"""All formats of sources, and the pieces, checks, fingerprint, columns and length of a source.

To add a format, write a module that defines its record, add the record to `FORMATS`, and its suffixes to `KINDS` of
`file_names.py`.
"""

import hashlib
from collections.abc import Iterable, Sequence

from ops.sources.arrow import ARROW
from ops.sources.csv import CSV
from ops.sources.docstrings import PYDOCS
from ops.sources.hub import HUB
from ops.sources.json import JSON, JSONL
from ops.sources.parquet import PARQUET
from ops.sources.rows import Broken, OnError, Row
from ops.sources.source import Piece, Source
from ops.sources.source_format import Rows, SourceFormat
from ops.sources.text import DOCUMENTS, PARAGRAPHS, TXT

FORMATS: tuple[SourceFormat, ...] = (PYDOCS, HUB, TXT, CSV, JSONL, JSON, PARQUET, ARROW, PARAGRAPHS, DOCUMENTS)


def format_of(kind: str) -> SourceFormat:
    """Return the format of a source or a piece, given its kind."""
    return {one.kind: one for one in FORMATS}[kind]


def pieces(source: Source) -> list[Piece]:
    """Return the pieces of a source in a fixed order.

    A piece is named after its file or, for a glob, after the file's path relative to the folder that all files share.
    An uncompressed file of lines and a Parquet file's row groups are divided into pieces of `piece_bytes`.

    Raises:
        InputError: the footer of a Parquet file cannot be read, or the hub cannot be reached.
    """
    parts = format_of(source.kind).split(source)
    return [
        Piece(source.dataset, source.kind, file, name, index, part) for index, (file, name, part) in enumerate(parts)
    ]


def named_apart(datasets: list[str]) -> list[str]:
    """Return for each source the value of its pieces' `documents`, so that no two sources share a document.

    >>> named_apart(["news", "books", "news"])
    ['1:', '', '2:']
    """
    return [
        f"{datasets[: index + 1].count(name)}:" if datasets.count(name) > 1 else ""
        for index, name in enumerate(datasets)
    ]


def read_piece(piece: Piece, text_column: str = "text", on_error: OnError = "fail") -> Rows:
    """Return the rows of a piece in order.

    Raises:
        InputError: the piece's reader raises it.
    """
    rows = format_of(piece.kind).read(piece, text_column, on_error)
    return (row._replace(doc_id=piece.documents + row.doc_id) for row in rows) if piece.documents else rows


def check_source(source: Source, text_column: str = "text") -> None:
    """Refuse a source that cannot be read, as `SourceFormat.check` does."""
    format_of(source.kind).check(source, text_column)


def source_fingerprint(source: Source) -> str:
    """Return the SHA-256, in hexadecimal, of the names and bytes of a source's files.

    For `pydocs` it is the SHA-256 of the packages' versions. For a hub dataset it is the SHA-256 of the dataset's id,
    its commit and, for a preset, the use of its columns.

    Raises:
        InputError: a file cannot be opened, a package is not installed, or the hub cannot be reached.
    """
    digest = hashlib.sha256(source.kind.encode())
    for line in format_of(source.kind).identity(source):
        digest.update(f"\n{line}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def piece_extent(piece: Piece) -> float | None:
    """Return the length of a piece in rows or bytes, depending on its format; None if it is unknown before reading."""
    return format_of(piece.kind).extent(piece)


def extent_of(piece: Piece, rows: Sequence[Row | Broken]) -> float:
    """Return the length of a piece's first rows, in the same unit as `piece_extent`."""
    return format_of(piece.kind).extent_of(piece, rows)


def missing_column(sources: Iterable[Source], column: str, text_column: str = "text") -> list[str] | None:
    """Return the available metadata columns if no source has `column`; None if a source has or may have it.

    Every line of a .jsonl file may have its own keys, and columns of a hub dataset are converted. Whether these sources
    have the column is known only after they are read.

    Args:
        sources: all sources to be read; only the beginnings of their files are read here.
        column: the column that is required.
        text_column: the column that contains the text.

    Raises:
        InputError: a file's reader raises it.
    """
    available: dict[str, None] = {}
    for columns in (c for source in sources for c in format_of(source.kind).columns(source, text_column)):
        if columns is None or column in columns:
            return None
        available |= dict.fromkeys(columns)
    return list(available)
