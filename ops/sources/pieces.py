"""A source as pieces, each read by one worker; its checks and its fingerprint."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any
from urllib.parse import unquote

from ops.errors import InputError
from ops.sources.csv import read_csv
from ops.sources.docstrings.packages import package_versions, pydocs_pieces, read_pydocs
from ops.sources.file_names import compression
from ops.sources.hub import check_columns, column_types, read_hub
from ops.sources.hub_spec import HubSpec, commit_of, open_splits
from ops.sources.jsonl import read_jsonl
from ops.sources.lines import read_head
from ops.sources.parquet import open_parquet, read_parquet, row_group_runs
from ops.sources.presets import PRESETS
from ops.sources.rows import Broken, OnError, Row
from ops.sources.spec import Source
from ops.sources.txt import read_txt
from ops.storage.side_by_side import side_by_side
from ops.storage.streams import file_size, open_stream

_READERS = {"txt": read_txt, "csv": read_csv, "jsonl": read_jsonl}
CUT_BY_LINES = ("txt", "jsonl")
RANGE_BYTES = 1 << 24  # some 125,000 short rows: many more pieces than workers, so that all end together
_CHECKED_ROWS = 200
_MARKS = (
    ((b"\xff\xfe\0\0", b"\0\0\xfe\xff"), "UTF-32"),
    ((b"\xff\xfe", b"\xfe\xff"), "UTF-16"),
)
_HEAD = 4_096  # bytes in which an encoding shows
_BLOCK = 1 << 20  # bytes
_HASHED_AT_A_TIME = 8  # files


@dataclass(frozen=True)
class Piece:
    """What one worker reads at a time: a file, a range of one, a package, or a shard on the hub.

    Attributes:
        dataset: name of the source's dataset.
        kind: the source's (`pydocs hub txt csv jsonl parquet`).
        file: the file, the package, or the dataset's id on the hub.
        name: what stands for it in `doc_id`.
        index: the piece's place in its source, from 0.
        first_group, stop_group: of Parquet, the row groups from the first to the one before `stop_group` (None: to
            the end).
        first_byte, stop_byte: of lines, the range from the first byte to the one before `stop_byte` (None: to the end).
        first_row: number in the file of the first row of `first_group`, or of the first line at `first_byte`.
        preset, revision, config, split: of the hub, the preset, commit, configuration and split.
        shard, shards: of the hub, the shard's number from 0, and how many the split has.
        documents: what stands before every `doc_id`, where several sources have one dataset's name.
    """

    dataset: str
    kind: str
    file: str
    name: str
    index: int
    first_group: int = 0
    stop_group: int | None = None
    first_byte: int = 0
    stop_byte: int | None = None
    first_row: int = 0
    preset: str = ""
    revision: str = ""
    config: str = ""
    split: str = ""
    shard: int = 0
    shards: int = 1
    documents: str = ""


def pieces(source: Source, range_bytes: int = RANGE_BYTES) -> list[Piece]:
    """Return the pieces of a source in a fixed order.

    A piece of a file is named after it, or, for a glob, by its path below the folder that all files share.

    Args:
        source: what is read.
        range_bytes: of a file of lines that is not compressed, about so many bytes make a piece.

    Raises:
        InputError: the footer of a Parquet file cannot be read, or the hub cannot be reached.
    """
    if source.kind == "pydocs":
        found = [Piece(source.dataset, source.kind, package, package, 0) for package in pydocs_pieces()]
    elif source.hub is not None:
        found = _hub_pieces(source.dataset, source.hub)
    else:
        found = [Piece(source.dataset, source.kind, file, name, 0) for file, name in _named_files(source)]
    if source.kind == "parquet":
        found = [part for parts in side_by_side(_row_group_pieces, found) for part in parts]
    elif source.kind in CUT_BY_LINES:
        found = [part for parts in side_by_side(lambda one: _line_pieces(one, range_bytes), found) for part in parts]
    return [replace(piece, index=index) for index, piece in enumerate(found)]


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
    rows = _rows(piece, text_column, on_error)
    return (row._replace(doc_id=piece.documents + row.doc_id) for row in rows) if piece.documents else rows


def _rows(piece: Piece, text_column: str, on_error: OnError) -> Iterator[Row | Broken]:
    if piece.kind == "pydocs":
        return read_pydocs(piece.file)
    if piece.kind == "hub":
        hub = HubSpec(piece.file, piece.revision, piece.config, piece.split, piece.preset)
        place = (piece.revision, piece.split, piece.shard, piece.shards)
        return read_hub(hub, *place, text_column=text_column, on_error=on_error, name=piece.name)
    options: dict[str, Any] = {"text_column": text_column, "on_error": on_error, "name": piece.name}
    if piece.kind in CUT_BY_LINES:
        options |= {"first_byte": piece.first_byte, "stop_byte": piece.stop_byte, "first_row": piece.first_row}
    if piece.kind == "parquet":
        options |= {"first_group": piece.first_group, "stop_group": piece.stop_group, "first_row": piece.first_row}
        return read_parquet(piece.file, **options)
    return _READERS[piece.kind](piece.file, **options)


def check_source(source: Source, text_column: str = "text") -> None:
    """Refuse a source that cannot be read, by the beginning of each file or by its footer.

    Raises:
        InputError: a file cannot be opened, is not UTF-8, or has no text column; a package is not installed; the hub
            cannot be reached.
    """
    if source.kind == "pydocs":
        package_versions()
        return
    if source.hub is not None:
        for stream in open_splits(source.hub, commit_of(source.hub)).values():
            check_columns(source.hub, column_types(source.hub, stream), text_column)
        return
    for _ in side_by_side(lambda file: _check_file(source.kind, *file, text_column), _named_files(source)):
        pass


def _check_file(kind: str, path: str, name: str, text_column: str) -> None:
    if kind == "parquet":
        file, _ = open_parquet(path, text_column)
        file.close()
        return
    encoding = wide_encoding(read_head(path, _HEAD))
    if encoding:
        raise InputError(f"{path}: the text is {encoding}, expected UTF-8; convert it, as with iconv")
    rows = _READERS[kind](path, text_column=text_column, on_error="reject", name=name)
    for _ in islice(rows, _CHECKED_ROWS):
        pass


def wide_encoding(head: bytes) -> str:
    """Return the name of an encoding of several bytes a letter that a text's beginning shows, empty where none does.

    >>> wide_encoding("Grüße".encode("utf-16")), wide_encoding(b"plain")
    ('UTF-16', '')
    """
    for marks, name in _MARKS:
        if head.startswith(marks):
            return name
    # Without a mark: most letters of most languages have a byte of zero then, and no text has otherwise.
    zeros = head.count(0) / max(len(head), 1)
    return "UTF-32" if zeros > 0.6 else "UTF-16" if zeros > 0.2 else ""


def source_fingerprint(source: Source) -> str:
    """Return the SHA-256, in hexadecimal, of the names and bytes of a source's files.

    Of `pydocs` it is that of the packages' versions; of the hub that of the dataset, its commit and, for a
    preset, what is made of its columns.

    Raises:
        InputError: a file cannot be opened, a package is not installed, or the hub cannot be reached.
    """
    digest = hashlib.sha256(source.kind.encode())
    if source.kind == "pydocs":
        for package, version in package_versions().items():
            digest.update(f"\n{package} {version}".encode())
        return digest.hexdigest()
    if source.hub is not None:
        hub = source.hub
        digest.update(f"\n{hub.hub} {commit_of(hub)} {hub.config} {hub.split} {PRESETS.get(hub.preset)}".encode())
        return digest.hexdigest()
    files = _named_files(source)
    with ThreadPoolExecutor(_HASHED_AT_A_TIME) as pool:
        contents = pool.map(_file_digest, [path for path, _ in files])
        for content, (_, name) in zip(contents, files, strict=True):
            digest.update(f"\n{content} {name}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _file_digest(path: str) -> str:
    digest = hashlib.sha256()
    with open_stream(path) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def line_ranges(path: str, range_bytes: int) -> list[tuple[int, int | None, int]]:
    """Return ranges of about so many bytes of a file that is not compressed, cut behind line ends.

    A line's end is one whatever stands before it: neither plain text nor JSON Lines quotes it. (A cell of CSV may: amid
    such a file no place is safe before all that precedes it is read.)

    Returns:
        Of each range the first byte, the byte after its last (None: the end of the file) and the lines before it.

    Raises:
        InputError: the file cannot be opened.
    """
    cuts, lines, place = [(0, 0)], 0, 0
    with open_stream(path) as stream:
        while block := stream.read(_BLOCK):
            counted = 0
            while end := block.find(b"\n", max(cuts[-1][0] + range_bytes - 1 - place, 0)) + 1:
                lines += block.count(b"\n", counted, end)
                cuts.append((place + end, lines))
                counted = end
            lines += block.count(b"\n", counted)
            place += len(block)
    if len(cuts) > 1 and cuts[-1][0] == place:
        cuts.pop()
    stops = [first for first, _ in cuts[1:]]
    return [(first, stop, row) for (first, row), stop in zip(cuts, [*stops, None], strict=True)]


def _named_files(source: Source) -> list[tuple[str, str]]:
    paths = [file.split("/") for file in (file.replace(os.sep, "/") for file in source.files)]
    steps = zip(*(path[:-1] for path in paths), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, steps))
    return [(file, _file_name("/".join(path[shared:]), file)) for file, path in zip(source.files, paths, strict=True)]


def _hub_pieces(dataset: str, hub: HubSpec) -> list[Piece]:
    commit = commit_of(hub)
    found = []
    for split, stream in open_splits(hub, commit).items():
        for shard in range(stream.num_shards):
            piece = Piece(dataset, "hub", hub.hub, f"{hub.name}:{split}:{shard}", 0)
            place = {"split": split, "shard": shard, "shards": stream.num_shards}
            found.append(replace(piece, preset=hub.preset, revision=commit, config=hub.config, **place))
    return found


def _line_pieces(piece: Piece, range_bytes: int) -> list[Piece]:
    if compression(piece.file) or file_size(piece.file) < 2 * range_bytes:
        return [piece]
    ranges = line_ranges(piece.file, range_bytes)
    return [replace(piece, first_byte=first, stop_byte=stop, first_row=row) for first, stop, row in ranges]


def _row_group_pieces(piece: Piece) -> list[Piece]:
    runs = row_group_runs(piece.file)
    if len(runs) == 1:
        return [piece]
    return [replace(piece, first_group=first, stop_group=stop, first_row=row) for first, stop, row in runs]


def _file_name(name: str, file: str) -> str:
    return unquote(name.partition("?")[0]) if "://" in file else name
