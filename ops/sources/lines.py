"""The lines of a file, compressed or not, as bytes, and its text."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, cast

import pyarrow as pa

from ops.errors import one_line
from ops.sources.file_names import compression
from ops.sources.rows import ROW_BYTES
from ops.storage.streams import ErrorRecordingStream, open_seekable, open_stream

BOM = b"\xef\xbb\xbf"
_BLOCK, _STEP, _SAMPLE = 1 << 18, 1 << 14, 1 << 20  # bytes
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, pa.ArrowInvalid)  # raised if compression is damaged


class BrokenStream(Exception):
    """The rest of a stream cannot be read: its compression is truncated or damaged, or a line is too long."""


def read_head(path: str, size: int) -> bytes:
    """Return the first bytes of a file, decompressed; fewer if the file is shorter or is damaged there.

    Raises:
        InputError: the file cannot be opened.
    """
    head = b""
    with open_stream(path) as raw, suppress(*_DAMAGE):
        stream = cast(io.BufferedReader, _decompressed(raw, compression(path)))
        while block := stream.read1(size - len(head)):
            head += block
    return head


def expansion(path: str) -> float:
    """Return a file's decompressed bytes per stored byte, estimated from its beginning.

    It is 1 for a file that is not compressed or is damaged there; whoever reads the file reports the damage.
    """
    method = compression(path)
    if method is None:
        return 1.0
    with open_stream(path) as raw:
        block = raw.read(_SAMPLE)
    stream, length = _decompressed(pa.BufferReader(block), method), 0
    with suppress(*_DAMAGE):
        while chunk := stream.read(_STEP):
            length += len(chunk)
    return length / len(block) if length else 1.0


def read_lines(path: str, first: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Yield every line with its line end, without a byte-order mark at the start of the file.

    Args:
        path: the file.
        first: the byte at which reading begins, which is the first byte of a line. It must be 0 for a compressed file.
        stop: the byte before which the last line begins; None means the end of the file.

    Raises:
        InputError: the file cannot be opened.
        BrokenStream: the file is damaged, or a line is too long; raised after the last complete line before that.
        OSError: the storage fails, which does not mean that the file is damaged.
    """
    raw = open_seekable(path) if first else open_stream(path)
    with raw:
        if first:
            raw.seek(first)
        stream = _decompressed(raw, compression(path))
        byte, begins = first, not first
        while stop is None or byte < stop:
            try:
                line = stream.readline(ROW_BYTES + 1)
            except _DAMAGE as error:
                raise BrokenStream(one_line(error)) from error
            byte += len(line)
            if begins:
                line, begins = line.removeprefix(BOM), False
            if not line:
                return
            if len(line) > ROW_BYTES:
                raise BrokenStream(f"a line of more than {ROW_BYTES} bytes")
            yield line


def read_text(path: str) -> Iterator[str]:
    """Yield a file's text in blocks, without a byte-order mark; bytes that are not UTF-8 become lone surrogates.

    Raises:
        InputError: the file cannot be opened.
        BrokenStream: the file is damaged; raised after the text before the damage.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    with open_stream(path) as raw:
        stream = cast(io.BufferedReader, _decompressed(raw, compression(path)))
        block = b"begin"
        while block:
            try:
                block = stream.read1(_BLOCK)
            except _DAMAGE as error:
                raise BrokenStream(one_line(error)) from error
            if text := decoder.decode(block, final=not block):
                yield text


def decode_line(line: bytes) -> str:
    """Return a line's text; bytes that are not UTF-8 become lone surrogates, which `to_row` rejects."""
    return line.decode("utf-8", "surrogateescape")


def _decompressed(raw: pa.NativeFile, method: str | None) -> IO[bytes]:
    if method == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=cast(Any, raw)))
    if method == "zstd":
        return io.BufferedReader(_ZstdStream(raw), _BLOCK)
    return cast(IO[bytes], io.BufferedReader(cast(Any, raw), _BLOCK))


class _ZstdStream(io.RawIOBase):
    """The decompressed content of zstd frames, up to any damage."""

    def __init__(self, raw: pa.NativeFile) -> None:
        self.storage = ErrorRecordingStream(raw)
        self.stream = pa.CompressedInputStream(pa.PythonFile(self.storage, "r"), "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self.stream.read(min(len(buffer), _STEP))
        except OSError as error:
            self.storage.reraise()
            raise EOFError(one_line(error)) from error
        buffer[: len(block)] = block
        return len(block)
