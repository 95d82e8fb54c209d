"""Find a local path, or any URI that `pyarrow.fs` knows, and open it for reading bytes.

pyarrow is imported once a file is asked for: the formats of sources are listed by `--help`, and read through this file.
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

from ops.errors import InputError, one_line
from ops.storage.secrets import refuse_secrets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs

WILDCARD = re.compile(r"[*?\[]")
# A URI of a file whose name means itself, without escapes: its folder, its name, its query.
_IN_FOLDER = re.compile(r"(\w+://[^?#]*[^/?#])/([\w.=+~-]+)(\?[^#]*)?", re.ASCII)
_VARIABLE = re.compile(r"AWS_|GOOGLE_|CLOUDSDK_|HADOOP_|(https?|all|no)_proxy$", re.IGNORECASE)
_URI_WILDCARD = re.compile(r"[*\[]")  # a `?` starts the query of a URI


# Requests to object storage that a process has under way. Each mostly waits, 20 to 50 ms: Arrow's 8 leave a file of 36
# row groups waiting several times over. S3 gets as many connections, if set before the first is made (25 at the least).
IO_THREADS = 32

# Google's storage is asked again for a quarter of an hour unless its URI says otherwise, and nothing is said meanwhile.
# S3 takes a file of less than 10 MB in one request in the place of three.
_OPTIONS = (
    (("gs://", "gcs://"), "retry_limit_seconds", "20"),
    (("s3://",), "allow_delayed_open", "true"),
)


def is_uri(path: str) -> bool:
    """Tell whether a path is written as a URI."""
    return "://" in path


def locate(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system that holds a local path or any URI that pyarrow opens, and the path on it.

    S3 takes its credentials, region and endpoint from the usual variables (AWS_ACCESS_KEY_ID,
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
            system, inner = _open_folder(folder + query, _variables())
            return system, f"{inner}/{name}"
        return cast(tuple[fs.FileSystem, str], fs.FileSystem.from_uri(_with_options(path)))
    except (OSError, ValueError, pa.ArrowException) as error:
        found = one_line(error)
        raise InputError(f"{path}: cannot be opened ({found}); give a path, or a URI as s3://BUCKET/KEY") from error


@lru_cache(maxsize=64)
def _open_folder(uri: str, _: tuple[tuple[str, str], ...]) -> tuple[fs.FileSystem, str]:
    """Return a folder's file system and its path there, once for all of its files.

    Arrow keeps a request to S3 and the making of a file system from being under way at a time (26.0: each asks for the
    list of all clients), so that files which each made their own were read one after another by any number of threads.
    """
    from pyarrow import fs

    system, inner = fs.FileSystem.from_uri(_with_options(uri))
    return system, inner.rstrip("/")


def _variables() -> tuple[tuple[str, str], ...]:
    """Return what the environment says of storage: endpoints, credentials, proxies."""
    return tuple((name, value) for name, value in os.environ.items() if _VARIABLE.match(name))


def _with_options(uri: str) -> str:
    """Return a URI with the options that are ours, unless it has them."""
    for schemes, option, value in _OPTIONS:
        if uri.lower().startswith(schemes) and f"{option}=" not in uri:
            return f"{uri}{'&' if '?' in uri else '?'}{option}={value}"
    return uri


def open_stream(path: str) -> pa.NativeFile:
    """Return a file's raw bytes as a stream, never decompressed.

    Raises:
        InputError: it cannot be opened.
    """
    system, inner = locate(path)
    with _naming(path):
        return system.open_input_stream(inner, compression=None)


def open_seekable(path: str) -> pa.NativeFile:
    """Return a file's raw bytes for reading at any place.

    Raises:
        InputError: it cannot be opened.
    """
    system, inner = locate(path)
    with _naming(path):
        return system.open_input_file(inner)


def file_type(path: str) -> fs.FileType:
    """Return whether a path or URI is a file, a directory or not there.

    Raises:
        InputError: the storage refuses to say.
    """
    system, inner = locate(path)
    with _naming(path):
        return system.get_file_info(inner).type


def file_size(path: str) -> int:
    """Return a file's bytes.

    Raises:
        InputError: the storage refuses to say, or there is no such file.
    """
    system, inner = locate(path)
    with _naming(path):
        return int(system.get_file_info(inner).size)


def expand_glob(pattern: str) -> list[str]:
    """Return the files that a glob matches, sorted; `**` stands for any folders, hidden names need a written dot.

    In a URI `?` is no wildcard (it starts the query) and a folder is listed with one call of the storage.

    Raises:
        InputError: the folder cannot be listed.
    """
    if not is_uri(pattern):
        found = glob.glob(os.path.abspath(os.path.expanduser(pattern)), recursive=True)
        return sorted(path for path in found if os.path.isfile(path))
    from pyarrow import fs

    base, mark, query = pattern.partition("?")
    wild = _URI_WILDCARD.search(base)
    if wild is None:
        return [pattern]
    folder = base[: base.rindex("/", 0, wild.start()) + 1]
    parts = base[len(folder) :].split("/")
    system, inner = locate(folder + mark + query)
    with _naming(folder):
        infos = system.get_file_info(fs.FileSelector(inner, recursive=len(parts) > 1 or parts[0] == "**"))
    names = (info.path[len(inner.rstrip("/")) + 1 :] for info in infos if info.type == fs.FileType.File)
    return sorted(folder + quote(name) + mark + query for name in names if _matches(name.split("/"), parts))


class ErrorRecordingStream(io.RawIOBase):
    """A stream that passes reads on and records the storage's own error, which pyarrow reports like damaged data.

    So whoever reads through pyarrow can distinguish a failure of the storage from damage in what is stored.
    """

    def __init__(self, raw: pa.NativeFile) -> None:
        self.raw = raw
        self.failure: OSError | None = None

    def readable(self) -> bool:
        """Return True: the stream is for reading."""
        return True

    def seekable(self) -> bool:
        """Tell whether the raw stream can be read at any place."""
        return bool(self.raw.seekable())

    def tell(self) -> int:
        """Return the place in bytes."""
        return int(self.raw.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in bytes and return it."""
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
    """Tell whether the names of a path match the parts of a pattern."""
    if not names or not parts:
        return not names and not parts
    if parts[0] == "**":
        return _matches(names, parts[1:]) or (not names[0].startswith(".") and _matches(names[1:], parts))
    hidden = names[0].startswith(".") and not parts[0].startswith(".")
    return not hidden and fnmatch.fnmatchcase(names[0], parts[0]) and _matches(names[1:], parts[1:])


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Turn the storage's errors into an `InputError` that names the path."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check --corpus") from error
    except (OSError, ValueError, pa.ArrowException) as error:
        found = one_line(error)
        raise InputError(f"{path}: cannot be opened ({found}); check that it is a readable file") from error
