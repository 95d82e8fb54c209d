"""A source as pieces, each read by one worker; its checks, its fingerprint, its columns and its length.

Everything that differs between formats is in their records (`source_format.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from ops.sources.formats import format_of
from ops.sources.rows import Broken, OnError, Row
from ops.sources.source_format import Piece, Source

RANGE_BYTES = 1 << 24  # some 125,000 short rows: many more pieces than workers, so that all end together


def pieces(source: Source, range_bytes: int = RANGE_BYTES) -> list[Piece]:
    """Return the pieces of a source in a fixed order.

    A piece of a file is named after it, or, for a glob, by its path below the folder that all files share.

    Args:
        source: what is read.
        range_bytes: so many bytes of text make a piece of a file of lines that is not compressed, and of Parquet's row
            groups; fewer where the source would have too few pieces (`piece_bytes`).

    Raises:
        InputError: the footer of a Parquet file cannot be read, or the hub cannot be reached.
    """
    found = format_of(source.kind).split(source, range_bytes)
    return [
        Piece(source.dataset, source.kind, file, name, index, part) for index, (file, name, part) in enumerate(found)
    ]


def named_apart(datasets: list[str]) -> list[str]:
    """Return for each source what its pieces are to have in `documents`, so that no two sources share a document.

    >>> named_apart(["news", "books", "news"])
    ['1:', '', '2:']
    """
    return [
        f"{datasets[: place + 1].count(name)}:" if datasets.count(name) > 1 else ""
        for place, name in enumerate(datasets)
    ]


def read_piece(piece: Piece, text_column: str = "text", on_error: OnError = "fail") -> Iterator[Row | Broken]:
    """Return the rows of a piece in their order.

    Raises:
        InputError: as the piece's reader raises it.
    """
    rows = format_of(piece.kind).read(piece, text_column, on_error)
    return (row._replace(doc_id=piece.documents + row.doc_id) for row in rows) if piece.documents else rows


def check_source(source: Source, text_column: str = "text") -> None:
    """Refuse a source that cannot be read, by the beginning of each file or by its footer.

    Raises:
        InputError: a file cannot be opened, is not UTF-8, or has no text column; a package is not installed; the hub
            cannot be reached.
    """
    format_of(source.kind).check(source, text_column)


def source_fingerprint(source: Source) -> str:
    """Return the SHA-256, in hexadecimal, of the names and bytes of a source's files.

    Of `pydocs` it is that of the packages' versions; of the hub that of the dataset, its commit and, for a
    preset, what is made of its columns.

    Raises:
        InputError: a file cannot be opened, a package is not installed, or the hub cannot be reached.
    """
    digest = hashlib.sha256(source.kind.encode())
    for line in format_of(source.kind).identity(source):
        digest.update(f"\n{line}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def piece_extent(piece: Piece) -> float | None:
    """Return how long a piece is, in rows or bytes as its format has it; None where nothing tells before it is read.

    Raises:
        InputError: the piece cannot be opened.
    """
    return format_of(piece.kind).extent(piece)


def extent_of(piece: Piece, rows: Sequence[Row | Broken]) -> float:
    """Return how much of a piece its first rows are, in the unit of `piece_extent`."""
    return format_of(piece.kind).extent_of(piece, rows)


def missing_column(sources: Iterable[Source], column: str, text_column: str = "text") -> list[str] | None:
    """Return the columns that sources can have instead of one that none has; None where one has it, or may have it.

    Every line of a .jsonl file may have keys of its own, and of a dataset of the hub columns become others: whether
    these have the column is known once they are read.

    Args:
        sources: all that are to be read; only the beginnings of their files are.
        column: the column that is looked for.
        text_column: the one that holds the text.

    Raises:
        InputError: as the files' readers raise it.
    """
    found: dict[str, None] = {}
    for columns in (c for source in sources for c in format_of(source.kind).columns(source, text_column)):
        if columns is None or column in columns:
            return None
        found |= dict.fromkeys(columns)
    return list(found)
