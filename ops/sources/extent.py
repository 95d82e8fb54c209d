"""How long a source is, and how much of it some rows are, as far as its format tells without reading it all."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import islice

import pyarrow as pa

from ops.sources.docstrings.packages import module_bytes
from ops.sources.file_names import compression
from ops.sources.hub_spec import HubSpec, open_splits
from ops.sources.lines import read_lines
from ops.sources.parquet import count_rows
from ops.sources.pieces import Piece
from ops.sources.rows import Broken, Row
from ops.storage.streams import file_size, open_stream

_BLOCK = 1 << 20  # bytes
TOLD_BY = {
    "parquet": "footers",
    "pydocs": "sizes of modules",
    "txt": "sizes of files",
    "csv": "sizes of files",
    "jsonl": "sizes of files",
    "hub": "the hub's counts",
}


def piece_extent(piece: Piece) -> float | None:
    """Return how long a piece is: rows of Parquet and of the hub, else bytes; None where the hub does not say.

    Raises:
        InputError: the piece cannot be opened.
    """
    if piece.kind == "pydocs":
        return float(module_bytes(piece.file))
    if piece.kind == "hub":
        return _hub_rows(piece)
    if piece.kind == "parquet":
        return float(count_rows(piece.file, piece.first_group, piece.stop_group))
    if piece.stop_byte is not None:
        return float(piece.stop_byte - piece.first_byte)
    return (file_size(piece.file) - piece.first_byte) * _expansion(piece.file)


def extent_of(piece: Piece, rows: Sequence[Row | Broken]) -> float:
    """Return how much of a piece its first rows are, in the unit of `piece_extent`."""
    if piece.kind == "pydocs":
        last = next((row.meta["module"] for row in reversed(rows) if isinstance(row, Row)), None)
        return float(module_bytes(piece.file, last)) if last else 0.0
    if piece.kind in ("hub", "parquet"):
        return float(len(rows))
    lines = len(rows)
    if piece.kind == "csv":
        # A quoted value may hold several lines; the header is one.
        lines += 1 + sum(_inner_lines(row) for row in rows)
    return float(sum(map(len, islice(read_lines(piece.file, piece.first_byte), lines))))


def _inner_lines(row: Row | Broken) -> int:
    values = (row.text, *row.meta.values()) if isinstance(row, Row) else (row.text,)
    return sum(value.count("\n") for value in values)


def _hub_rows(piece: Piece) -> float | None:
    hub = HubSpec(piece.file, piece.revision, piece.config, piece.split, piece.preset)
    stream = open_splits(hub, piece.revision)[piece.split]
    split = (stream.info.splits or {}).get(piece.split)
    return split.num_examples / piece.shards if split is not None and split.num_examples else None


def _expansion(path: str) -> float:
    """Return the bytes that a byte of a file stands for, by its beginning: 1 where it is not compressed."""
    method = compression(path)
    if method is None:
        return 1.0
    with open_stream(path) as stream:
        block = stream.read(_BLOCK)
    if method == "gzip":
        whole = zlib.decompressobj(wbits=31)
        length = len(whole.decompress(block))
        return length / max(len(block) - len(whole.unused_data), 1)
    length = 0
    with pa.CompressedInputStream(pa.BufferReader(block), "zstd") as stream:
        try:
            while found := stream.read(_BLOCK):
                length += len(found)
        except OSError:
            pass  # the block ends amid a frame
    return length / max(len(block), 1)
