"""Locates a local path or any URI that `pyarrow.fs` knows, and opens it for reading bytes.

pyarrow is imported only when a file is opened, so that `--help`, which lists the formats of sources, stays fast.
"""

from __future__ import annotations

import fnmatch
import glob
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from ops.errors import InputError, StorageError, one_line
from ops.storage.option_text import refuse_secrets
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs

WILDCARD = re.compile(r"[*?\[]")
# A URI of a file whose name needs no escapes, split into its folder, its name and its query.
_IN_FOLDER = re.compile(r"(\w+://[^?#]*[^/?#])/([\w.=+~-]+)(\?[^#]*)?", re.ASCII)
_VARIABLE = re.compile(r"AWS_|GOOGLE_|CLOUDSDK_|HADOOP_|(https?|all|no)_proxy$", re.IGNORECASE)
_URI_WILDCARD = re.compile(r"[*\[]")  # a `?` starts the query of a URI
BLOCK = 1 << 24  # bytes; a smaller request to object storage takes about the same time

# Number of parallel requests of a process to object storage. A request mostly waits, for 20 to 50 ms. With Arrow's
# default of 8, a file of 36 row groups waits several times. S3 gets the same number of connections (at least 25) if
# the number is set before the first connection is made.
IO_THREADS = 32

# By default, requests to Google's storage are retried for a quarter of an hour, silently. With `allow_delayed_open`,
# S3 writes a file of less than 10 MB in one request instead of three.
_OPTIONS = (
    (("gs://", "gcs://"), "retry_limit_seconds", "20"),
    (("s3://",), "allow_delayed_open", "true"),
)


def is_uri(path: str) -> bool:
    """Return whether a path is a URI."""
    return "://" in path


def locate(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a local path or of any URI that pyarrow opens, and the path on that file system.

    The credentials, region and endpoint of S3 are read from the usual environment variables (AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL, ...) or from the URI's query.

    Raises:
        InputError: the scheme is unknown, its storage cannot be opened, or credentials are part of the URI.
    """
    import pyarrow as pa
    from pyarrow import fs

    if not is_uri(path):
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(path))
    refuse_secrets(path, "the address")
    if pa.io_thread_count() < IO_THREADS:
        pa.set_io_thread_count(IO_THREADS)
    try:
        if parts := _IN_FOLDER.fullmatch(path):
            folder, name, query = parts.groups(default="")
            # Storage is configured by variables too: endpoints, credentials, proxies.
            variables = tuple((name, value) for name, value in os.environ.items() if _VARIABLE.match(name))
            system, inner = _open_folder(folder + query, variables)
            return system, f"{inner}/{name}"
        return cast(tuple[fs.FileSystem, str], fs.FileSystem.from_uri(_with_options(path)))
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = one_line(error)
        raise InputError(f"{path}: cannot be opened ({reason}); give a path, or a URI as s3://BUCKET/KEY") from error


@lru_cache(maxsize=64)
def _open_folder(uri: str, _: tuple[tuple[str, str], ...]) -> tuple[fs.FileSystem, str]:
    """Return a folder's file system and the folder's path on it, cached for all files of the folder.

    Arrow 26.0 cannot send a request to S3 and create a file system at the same time, because both need exclusive access
    to the list of all clients. So when every file created its own file system, files were read one after another,
    however many threads read them.
    """
    from pyarrow import fs

    system, inner = fs.FileSystem.from_uri(_with_options(uri))
    return system, inner.rstrip("/")


def _with_options(uri: str) -> str:
    """Return a URI with the default options of `_OPTIONS` added, unless the URI already sets them."""
    for schemes, option, value in _OPTIONS:
        if uri.lower().startswith(schemes) and f"{option}=" not in uri:
            return f"{uri}{'&' if '?' in uri else '?'}{option}={value}"
    return uri


@contextmanager
def _located(path: str) -> Iterator[tuple[fs.FileSystem, str]]:
    """Locate a path, and turn the storage's errors in the context into a `StorageError` that names the path.

    A file that does not exist, is a folder or may not be read stays so, and is an `InputError` of no such kind.
    """
    import pyarrow as pa

    located = locate(path)
    try:
        yield located
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check --corpus") from error
    except (IsADirectoryError, PermissionError, ValueError) as error:
        raise InputError(f"{path}: cannot be opened ({one_line(error)}); check that it is a readable file") from error
    except (OSError, pa.ArrowException) as error:
        reason = one_line(error)
        raise StorageError(
            f"{path}: cannot be opened ({reason}); check that it is a readable file, or give the same command again"
        ) from error


def open_stream(path: str) -> pa.NativeFile:
    """Return a file's raw bytes as a stream, never decompressed.

    Raises:
        InputError: the file cannot be opened.
    """
    with _located(path) as (system, inner):
        return system.open_input_stream(inner, compression=None)


def open_seekable(path: str) -> pa.NativeFile:
    """Return a file's raw bytes for reading at any position.

    Raises:
        InputError: the file cannot be opened.
    """
    with _located(path) as (system, inner):
        return system.open_input_file(inner)


def read_blocks(path: str, size: int = BLOCK) -> Iterator[bytes]:
    """Yield a file's bytes in blocks of `size`, in order; the last block may be shorter.

    Several blocks are read at the same time. If each block waited for the previous one, reading a file of 10 GB from
    object storage would take minutes.

    Raises:
        InputError: the file cannot be opened.
    """
    with open_seekable(path) as file:
        starts = range(0, file.size(), size)
        yield from side_by_side(lambda start: file.read_at(size, start), starts, LARGE_FILES_AT_ONCE)


def file_type(path: str) -> fs.FileType:
    """Return whether a path or URI is a file, a directory, or does not exist.

    Raises:
        InputError: the storage refuses the request.
    """
    with _located(path) as (system, inner):
        return system.get_file_info(inner).type


def file_size(path: str) -> int:
    """Return a file's size in bytes.

    Raises:
        InputError: the storage refuses the request, or the file does not exist.
    """
    with _located(path) as (system, inner):
        if (size := system.get_file_info(inner).size) is None:
            raise FileNotFoundError
        return int(size)


def expand_glob(pattern: str) -> list[str]:
    """Return the files that a glob matches, sorted.

    `**` matches any folders, and hidden names are matched only by a pattern that begins with a dot. In a URI, `?` is
    not a wildcard because it starts the query, and a folder is listed with one request.

    Raises:
        InputError: the folder cannot be listed.
    """
    if not is_uri(pattern):
        paths = glob.glob(os.path.abspath(os.path.expanduser(pattern)), recursive=True)
        return sorted(path for path in paths if os.path.isfile(path))
    from pyarrow import fs

    base, mark, query = pattern.partition("?")
    wild = _URI_WILDCARD.search(base)
    if wild is None:
        return [pattern]
    folder = base[: base.rindex("/", 0, wild.start()) + 1]
    parts = base[len(folder) :].split("/")
    with _located(folder + mark + query) as (system, inner):
        infos = system.get_file_info(fs.FileSelector(inner, recursive=len(parts) > 1 or parts[0] == "**"))
    names = (info.path[len(inner.rstrip("/")) + 1 :] for info in infos if info.type == fs.FileType.File)
    return sorted(folder + quote(name) + mark + query for name in names if _matches(name.split("/"), parts))


class ErrorRecordingStream(io.RawIOBase):
    """A stream that forwards reads and records the storage's own errors, which pyarrow reports like damaged data.

    So code that reads through pyarrow can distinguish a failure of the storage from damaged data.
    """

    def __init__(self, raw: pa.NativeFile) -> None:
        self.raw = raw
        self.failure: OSError | None = None

    def readable(self) -> bool:
        """Return True, because the stream is for reading."""
        return True

    def seekable(self) -> bool:
        """Return whether the raw stream can be read at any position."""
        return bool(self.raw.seekable())

    def tell(self) -> int:
        """Return the current position in bytes."""
        return int(self.raw.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position in bytes and return that position."""
        return int(self.raw.seek(offset, whence))

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes."""
        try:
            return cast(bytes, self.raw.read(None if size < 0 else size))
        except OSError as error:
            self.failure = error
            raise

    def reraise(self) -> None:
        """Raise the storage's error, if there was one."""
        if self.failure is not None:
            raise self.failure


def _matches(names: list[str], parts: list[str]) -> bool:
    """Return whether the names of a path match the parts of a pattern."""
    if not names or not parts:
        return not names and not parts
    if parts == ["**"]:
        return not any(name.startswith(".") for name in names)
    if parts[0] == "**":
        return _matches(names, parts[1:]) or (not names[0].startswith(".") and _matches(names[1:], parts))
    hidden = names[0].startswith(".") and not parts[0].startswith(".")
    return not hidden and fnmatch.fnmatchcase(names[0], parts[0]) and _matches(names[1:], parts[1:])
