"""Find a local path, or any URI that `pyarrow.fs` knows, and open it for reading bytes."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs

from ops.errors import InputError, one_line

WILDCARD = re.compile(r"[*?\[]")
_URI_WILDCARD = re.compile(r"[*\[]")  # a `?` starts the query of a URI


def is_uri(path: str) -> bool:
    """Whether a path is written as a URI."""
    return "://" in path


def locate(path: str) -> tuple[fs.FileSystem, str]:
    """The file system that holds a local path or any URI that pyarrow opens, and the path on it.

    S3 takes its credentials, region and endpoint from the usual variables (AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL, ...) or from the URI's query. Raises
    `InputError` where the scheme is unknown or its storage cannot be opened.
    """
    if not is_uri(path):
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(path))
    try:
        system, inner = fs.FileSystem.from_uri(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        found = one_line(error)
        raise InputError(f"{path}: cannot be opened ({found}); give a path, or a URI as s3://BUCKET/KEY") from error
    return system, inner


def open_stream(path: str) -> pa.NativeFile:
    """A stream of the raw bytes of a file; `InputError` where it cannot be opened."""
    system, inner = locate(path)
    try:
        return system.open_input_stream(inner, compression=None)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(_cannot_open(path, error)) from error


def open_random(path: str) -> pa.NativeFile:
    """The raw bytes of a file for reading at any place; `InputError` where it cannot be opened."""
    system, inner = locate(path)
    try:
        return system.open_input_file(inner)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(_cannot_open(path, error)) from error


def file_type(path: str) -> fs.FileType:
    """Whether a path or URI is a file, a directory or not there; `InputError` where the storage refuses."""
    system, inner = locate(path)
    try:
        return system.get_file_info(inner).type
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(_cannot_open(path, error)) from error


def expand(pattern: str) -> list[str]:
    """The files that a glob matches, sorted; `**` stands for any folders, hidden names need a written dot.

    In a URI `?` is no wildcard (it starts the query) and a folder is listed with one call of the storage.
    """
    if not is_uri(pattern):
        found = glob.glob(os.path.abspath(os.path.expanduser(pattern)), recursive=True)
        return sorted(path for path in found if os.path.isfile(path))
    base, mark, query = pattern.partition("?")
    wild = _URI_WILDCARD.search(base)
    if wild is None:
        return [pattern]
    folder = base[: base.rindex("/", 0, wild.start()) + 1]
    parts = base[len(folder) :].split("/")
    system, inner = locate(folder + mark + query)
    try:
        infos = system.get_file_info(fs.FileSelector(inner, recursive=len(parts) > 1 or parts[0] == "**"))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(_cannot_open(folder, error)) from error
    names = (info.path[len(inner.rstrip("/")) + 1 :] for info in infos if info.type == fs.FileType.File)
    return sorted(folder + quote(name) + mark + query for name in names if _matches(name.split("/"), parts))


def _matches(names: list[str], parts: list[str]) -> bool:
    if not names or not parts:
        return not names and not parts
    if parts[0] == "**":
        return _matches(names, parts[1:]) or (not names[0].startswith(".") and _matches(names[1:], parts))
    hidden = names[0].startswith(".") and not parts[0].startswith(".")
    return not hidden and fnmatch.fnmatchcase(names[0], parts[0]) and _matches(names[1:], parts[1:])


def _cannot_open(path: str, error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file; check --corpus"
    return f"{path}: cannot be opened ({one_line(error)}); check that it is a readable file"
