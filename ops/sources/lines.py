"""The lines of a file, compressed or not, as bytes."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, cast

from ops.errors import one_line
from ops.sources.file_names import compression
from ops.sources.rows import ROW_BYTES
from ops.storage.streams import ErrorRecordingStream, open_seekable, open_stream

if TYPE_CHECKING:
    import pyarrow as pa

BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 18  # bytes


class BrokenStream(Exception):
    """The rest of a stream cannot be read: truncated or damaged compression, or a line without end."""


def read_head(path: str, size: int) -> bytes:
    """Return the first bytes of a file, decompressed; fewer where it is shorter, or damaged there.

    Raises:
        InputError: the file cannot be opened.
    """
    import pyarrow as pa

    with open_stream(path) as raw:
        try:
            return _decompressed(raw, compression(path)).read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile, pa.ArrowInvalid):
            return b""


def read_lines(path: str, first: int = 0, stop: int | None = None, row_bytes: int = ROW_BYTES) -> Iterator[bytes]:
    """Return every line with its end, a byte-order mark at the start of the file taken off.

    Args:
        path: the file.
        first: byte at which to begin, a line's first; other than 0 only of a file that is not compressed.
        stop: byte before which the last line begins; None: the end.
        row_bytes: bytes of the longest line; a longer one counts as damage.

    Raises:
        InputError: the file cannot be opened.
        BrokenStream: the file is damaged; raised after the last complete line before the damage.
        OSError: the storage's own error, which is no fault of the file.
    """
    import pyarrow as pa

    raw = open_seekable(path) if first else open_stream(path)
    with raw:
        if first:
            raw.seek(first)
        stream = _decompressed(raw, compression(path))
        place, begins = first, not first
        while stop is None or place < stop:
            try:
                line = stream.readline(row_bytes + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile, pa.ArrowInvalid) as error:
                raise BrokenStream(one_line(error)) from error
            place += len(line)
            if begins:
                line, begins = line.removeprefix(BOM), False
                if not line:
                    line = stream.readline(row_bytes + 1)
                    place += len(line)
            if not line:
                return
            if len(line) > row_bytes:
                raise BrokenStream(f"a line of more than {row_bytes} bytes")
            yield line


def decode_line(line: bytes) -> str:
    """Return a line's text, bytes that are not UTF-8 kept as lone surrogates, which `to_row` refuses."""
    return line.decode("utf-8", "surrogateescape")


def _decompressed(raw: pa.NativeFile, method: str | None) -> IO[bytes]:
    if method == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=cast(Any, raw)))
    if method == "zstd":
        return io.BufferedReader(_ZstdStream(raw), _BLOCK)
    return cast(IO[bytes], io.BufferedReader(cast(Any, raw), _BLOCK))


class _ZstdStream(io.RawIOBase):
    """The content of zstd frames, as far as they can be decompressed."""

    def __init__(self, raw: pa.NativeFile) -> None:
        import pyarrow as pa

        self.storage = ErrorRecordingStream(raw)
        self.stream = pa.CompressedInputStream(pa.PythonFile(self.storage, "r"), "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self.stream.read(min(len(buffer), 1 << 14))
        except OSError as error:
            self.storage.reraise()
            raise EOFError(one_line(error)) from error
        buffer[: len(block)] = block
        return len(block)
