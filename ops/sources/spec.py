"""The sources of a corpus: what a value of `--corpus` stands for."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from pyarrow.fs import FileType

from ops.errors import InputError
from ops.sources.file_names import compression, stem, suffix, without_query
from ops.sources.hub_spec import HubSpec, parse_hub
from ops.storage.streams import WILDCARD, expand_glob, file_type, is_uri

KIND_OF_SUFFIX = {".txt": "txt", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
READABLE = "pydocs, a preset, hf:ORG/NAME, or a file or glob of .txt .csv .jsonl .ndjson (also .gz .zst) .parquet"


@dataclass(frozen=True)
class Source:
    """One source of sentences: its dataset name, its kind (`pydocs hub txt csv jsonl parquet`), its files or hub."""

    spec: str
    dataset: str
    kind: str
    files: tuple[str, ...]
    hub: HubSpec | None = None


def parse_source(spec: str) -> Source:
    """Return the source that a value of `--corpus` names.

    Args:
        spec: `pydocs`, a preset (`ops/sources/presets.py`), `hf:ORG/NAME[:CONFIG][:SPLIT]`, or a file, glob or URI,
            with or without `NAME=` in front.

    Returns:
        The source, its files absolute and sorted. Without NAME the dataset is called after the preset, the file, or,
        for a glob of several files, after the words of the pattern or else their folder.

    Raises:
        InputError: nothing readable is named.
    """
    if "\0" in spec:
        raise InputError(f"--corpus {spec!r}: a NUL character in the path; check it")
    name, path = _split_name(spec)
    if path == "pydocs":
        return Source(spec, name or "pydocs", "pydocs", ())
    hub = parse_hub(spec, path)
    if hub is not None:
        return Source(spec, name or hub.name, "hub", (), hub)
    if not path:
        raise InputError(f"--corpus {spec!r}: no file is named; expected {READABLE}")
    files = _files(spec, path)
    kinds = sorted({_kind(spec, file) for file in files})
    if len(kinds) > 1:
        raise InputError(f"--corpus {spec}: files of several kinds ({', '.join(kinds)}); give each its own --corpus")
    return Source(spec, name or _dataset(path, files), kinds[0], tuple(files))


def _split_name(spec: str) -> tuple[str | None, str]:
    name, equals, rest = spec.partition("=")
    if not equals or is_uri(name) or "/" in name or os.sep in name:
        return None, spec
    if _exists(spec) or (WILDCARD.search(spec) and not is_uri(spec) and expand_glob(spec)):
        return None, spec
    if not name.strip():
        raise InputError(f"--corpus {spec}: the name before '=' is empty; write NAME={rest} or {rest}")
    return name.strip(), rest


def _exists(path: str) -> bool:
    return os.path.exists(os.path.expanduser(path))


def _files(spec: str, path: str) -> list[str]:
    if not is_uri(path):
        path = os.path.abspath(os.path.expanduser(path))
    wild = WILDCARD.search(without_query(path))
    if wild and not _exists(path):
        files = expand_glob(path)
        if not files:
            raise InputError(f"--corpus {spec}: no file matches this pattern; check the folder and the suffix")
        return files
    kind = file_type(path)
    if not is_uri(path) and os.path.islink(path) and not os.path.exists(path):
        raise InputError(f"--corpus {spec}: is a link that leads nowhere ({os.readlink(path)})")
    if kind == FileType.Unknown:
        raise InputError(f"--corpus {spec}: is no file but a pipe or a device; write it to a file first")
    if kind == FileType.NotFound:
        raise InputError(f"--corpus {spec}: no such file or preset; expected {READABLE}")
    if kind == FileType.Directory:
        raise InputError(f"--corpus {spec}: is a directory; name its files, as in {path.rstrip('/')}/*.parquet")
    return [path]


def _kind(spec: str, file: str) -> str:
    kind = KIND_OF_SUFFIX.get(suffix(file))
    if kind is None or (kind == "parquet" and compression(file)):
        found = os.path.basename(without_query(file))
        raise InputError(f"--corpus {spec}: {found} has a suffix of no known kind; expected {READABLE}")
    return kind


def _dataset(path: str, files: list[str]) -> str:
    if len(files) == 1:
        return stem(files[0])
    words = re.sub(r"\[[^\]]*\]|[*?]", "", stem(path)).strip("-_. ")
    folder = os.path.basename(os.path.dirname(without_query(path)))
    return words or (folder if folder and not WILDCARD.search(folder) else "corpus")
