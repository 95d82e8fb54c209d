"""The meaning of a value of `--corpus`: the source that it names."""

import os
import re

from pyarrow.fs import FileType

from ops.errors import InputError
from ops.sources.arrow import saved_files
from ops.sources.docstrings import PYDOCS
from ops.sources.file_names import KINDS, UNCOMPRESSED, compression, stem, suffix, suffixes, without_query
from ops.sources.hub import HUB, parse_hub
from ops.sources.pieces import format_of
from ops.sources.source import USUAL, Reading, Source
from ops.sources.text import DOCUMENTS, PARAGRAPHS, TXT
from ops.storage.option_text import check_text
from ops.storage.streams import WILDCARD, expand_glob, file_type, is_uri

READABLE = f"pydocs, a preset, hf:ORG/NAME, or a file or glob of {suffixes()}"


def parse_source(spec: str, reading: Reading = USUAL) -> Source:
    """Return the source that a value of `--corpus` names.

    Args:
        spec: `pydocs`, a preset (`ops/sources/presets.py`), `hf:ORG/NAME[:CONFIG][:SPLIT]`, or a file, glob or URI,
            with or without `NAME=` in front.
        reading: how its files are read.

    Returns:
        The source, with absolute and sorted file paths. Without NAME, the dataset is named after the preset or file.
        For a glob of several files it is named after the words of the pattern or, if there are none, after the
        folder.

    Raises:
        InputError: the value names nothing that can be read.
    """
    name, path = _split_name(spec)
    if path == "pydocs":
        return Source(spec, name or PYDOCS.kind, PYDOCS.kind, ())
    hub = parse_hub(spec, path)
    if hub is not None:
        return Source(spec, name or hub.name, HUB.kind, (), hub)
    if not path:
        raise InputError(f"--corpus {spec!r}: no file is named; expected {READABLE}")
    files = _files(spec, path)
    kinds = sorted({_kind(spec, file, reading) for file in files})
    if len(kinds) > 1:
        raise InputError(f"--corpus {spec}: files of several kinds ({', '.join(kinds)}); give each its own --corpus")
    options = format_of(kinds[0]).options(reading, files)
    return Source(spec, name or _dataset(path, files), kinds[0], tuple(files), options=options)


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
        for file in files:
            check_text(file, f"--corpus {spec}: the name of")
        return files
    kind = file_type(path)
    if not is_uri(path) and os.path.islink(path) and not os.path.exists(path):
        raise InputError(f"--corpus {spec}: is a broken link ({os.readlink(path)})")
    if kind == FileType.Unknown:
        raise InputError(f"--corpus {spec}: is a pipe or a device, not a file; write it to a file first")
    if kind == FileType.NotFound:
        raise InputError(f"--corpus {spec}: no such file or preset; expected {READABLE}")
    if kind == FileType.Directory:
        if files := saved_files(path):
            return files
        raise InputError(f"--corpus {spec}: is a directory; name its files, as in {path.rstrip('/')}/*.parquet")
    return [path]


def _kind(spec: str, file: str, reading: Reading) -> str:
    kind = KINDS.get(suffix(file))
    if kind in (None, TXT.kind) and reading.documents:
        kind = DOCUMENTS.kind
    elif kind == TXT.kind and reading.paragraphs:
        kind = PARAGRAPHS.kind
    if kind is None or (compression(file) and kind in UNCOMPRESSED):
        name = os.path.basename(without_query(file))
        raise InputError(f"--corpus {spec}: {name} has a suffix of no known kind; expected {READABLE}")
    return kind


def _dataset(path: str, files: list[str]) -> str:
    is_of_a_folder = not WILDCARD.search(path) and suffix(path) != suffix(files[0])
    if len(files) == 1 and not is_of_a_folder:
        return stem(files[0])
    path = path.rstrip("/")
    words = re.sub(r"\[[^\]]*\]|[*?]", "", stem(path)).strip("-_. ")
    folder = os.path.basename(os.path.dirname(without_query(path)))
    return words or (folder if folder and not WILDCARD.search(folder) else "corpus")
