"""A source as pieces that are read apart, its checks and its fingerprint."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from urllib.parse import unquote

from ops.errors import InputError
from ops.open_path import open_stream
from ops.pydocs import package_versions, pydocs_pieces, read_pydocs
from ops.read_csv import read_csv
from ops.read_jsonl import read_jsonl
from ops.read_parquet import open_parquet, read_parquet
from ops.read_txt import read_txt
from ops.rows import Broken, OnError, Row
from ops.sources import Source

_READERS = {"txt": read_txt, "csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet}
_CHECKED_ROWS = 200
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_BLOCK = 1 << 20  # bytes


@dataclass(frozen=True)
class Piece:
    """What one worker reads at a time, `index`-th of its source: a file (`name` in doc_ids) or a package."""

    dataset: str
    kind: str
    file: str
    name: str
    index: int


def pieces(source: Source) -> list[Piece]:
    """The pieces of a source in a fixed order: a file each, or a package of `pydocs`, a few for the stdlib.

    A piece of a file is named after it, or, for a glob, by its path below the folder that all files share.
    """
    if source.kind == "pydocs":
        named = [(package, package) for package in pydocs_pieces()]
    else:
        paths = [file.split("/") for file in (file.replace(os.sep, "/") for file in source.files)]
        steps = zip(*(path[:-1] for path in paths), strict=False)
        shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, steps))
        named = [(file, "/".join(path[shared:])) for file, path in zip(source.files, paths, strict=True)]
    return [
        Piece(source.dataset, source.kind, file, _shown(name, file), index) for index, (file, name) in enumerate(named)
    ]


def read_piece(piece: Piece, text_column: str = "text", on_error: OnError = "fail") -> Iterator[Row | Broken]:
    """The rows of a piece in their order; `InputError` as its reader raises it."""
    if piece.kind == "pydocs":
        return read_pydocs(piece.file)
    return _READERS[piece.kind](piece.file, text_column=text_column, on_error=on_error, name=piece.name)


def check_source(source: Source, text_column: str = "text") -> None:
    """Raise `InputError` unless every file opens and has the text column (Parquet: and a readable footer)."""
    if source.kind == "pydocs":
        package_versions()
    for piece in pieces(source) if source.kind != "pydocs" else []:
        if piece.kind == "parquet":
            file, _ = open_parquet(piece.file, text_column)
            file.close()
            continue
        with open_stream(piece.file) as stream:
            encoding = _WIDE.get(stream.read(2))
        if encoding:
            raise InputError(f"{piece.file}: the text is {encoding}, expected UTF-8; convert it, as with iconv")
        for _ in islice(read_piece(piece, text_column, "reject"), _CHECKED_ROWS):
            pass


def source_fingerprint(source: Source) -> str:
    """SHA-256, in hexadecimal, of the names and bytes of a source's files, or of the packages' versions."""
    digest = hashlib.sha256(source.kind.encode())
    if source.kind == "pydocs":
        for package, version in package_versions().items():
            digest.update(f"\n{package} {version}".encode())
        return digest.hexdigest()
    for piece in pieces(source):
        content = hashlib.sha256()
        with open_stream(piece.file) as stream:
            while block := stream.read(_BLOCK):
                content.update(block)
        digest.update(f"\n{content.hexdigest()} {piece.name}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _shown(name: str, file: str) -> str:
    return unquote(name.partition("?")[0]) if "://" in file else name
