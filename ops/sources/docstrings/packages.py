"""English text that is available on every machine: docstrings of the standard library and the core dependencies."""

from __future__ import annotations

import ast
import gc
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from ops.errors import InputError
from ops.sources.docstrings.prose import docstring_prose
from ops.sources.rows import Broken, OnError, Row, excerpt
from ops.sources.source_format import Part, Piece, Source, SourceFormat

STANDARD_LIBRARY = "stdlib"
PACKAGES = ("datasets", "numpy", "pyarrow", "ray", "spacy", "torch", "transformers")
META = ("package", "module")
# Number of pieces of large packages, so that the work does not end with one worker reading a large package alone.
_PIECES = {STANDARD_LIBRARY: 3, "ray": 3, "torch": 5, "transformers": 2}
# The fields of a syntax node that contain statements, in the order of their lines.
_STATEMENTS = ("body", "handlers", "orelse", "finalbody")
_SKIPPED = {
    "__pycache__",
    "conftest.py",
    "dist-packages",
    "encodings",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "site-packages",
    "test",
    "tests",
    "testing",
    "thirdparty",
    "thirdparty_files",
    "third_party",
    "turtledemo",
    "vendored",
    "_vendor",
    "_bundled",
}
_SKIPPED_PATHS = {"ray/rllib", "torch/_inductor", "transformers/models"}


def pydocs_pieces() -> list[str]:
    """Return the fixed list of pieces of `pydocs`: `stdlib:0`, `stdlib:1`, ..., `datasets:0`, ..."""
    return [f"{name}:{part}" for name in (STANDARD_LIBRARY, *PACKAGES) for part in range(_PIECES.get(name, 1))]


def package_versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Return the version of Python, and of each of these packages.

    Raises:
        InputError: one of the packages is not installed.
    """
    versions = {STANDARD_LIBRARY: ".".join(map(str, sys.version_info[:3]))}
    for package in packages:
        _folder(package)
        try:
            versions[package] = version(package)
        except PackageNotFoundError as error:
            raise InputError(_missing(package)) from error
    return versions


def read_pydocs(piece: str, parts: Mapping[str, int] = _PIECES) -> Iterator[Row | Broken]:
    """Yield the docstrings of one piece as prose, in the order of files and lines; modules are parsed but never run.

    `doc_id` is `module:qualified name`, and the metadata are package and module. Tests, vendored copies and modules of
    tables are left out. So are ray/rllib, torch/_inductor and transformers/models, which take long and are repetitive.
    A file that cannot be parsed is `broken`.

    Args:
        piece: one of `pydocs_pieces`.
        parts: the number of pieces of each package with more than one piece.

    Raises:
        InputError: the piece's package is not installed.
    """
    package = piece.partition(":")[0]
    root, files = _files_of(piece, parts)
    for file in files:
        module = _module(file)
        with open(os.path.join(root, file), "rb") as stream:
            source = stream.read()
        meta = dict(zip(META, (package, module), strict=True))
        try:
            with warnings.catch_warnings(), _uncollected():
                warnings.simplefilter("ignore")
                found = list(_docstrings(ast.parse(source), ""))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            yield Broken(excerpt(f"{file}: {error}"), f"{module}:", "broken")
            continue
        for name, docstring in found:
            if prose := docstring_prose(docstring):
                yield Row(prose, f"{module}:{name}", meta)


def module_bytes(piece: str, last: str | None = None) -> int:
    """Return the number of bytes of a piece's modules up to and including the module `last`; of all modules if None.

    Args:
        piece: one of `pydocs_pieces`.
        last: a module of the piece, as in the metadata of its rows.

    Raises:
        InputError: the piece's package is not installed.
    """
    root, files = _files_of(piece)
    stop = next((i + 1 for i, file in enumerate(files) if _module(file) == last), len(files))
    return sum(os.path.getsize(os.path.join(root, file)) for file in files[:stop])


def _files_of(piece: str, parts_of: Mapping[str, int] = _PIECES) -> tuple[str, list[str]]:
    """Return the folder of a piece's modules, and the relative paths of their files in the order of reading."""
    package, _, part = piece.partition(":")
    number, parts = int(part), parts_of.get(package, 1)
    if package != STANDARD_LIBRARY:
        root = os.path.dirname(_folder(package))
        files = list(_files(root, package))
        return root, files[len(files) * number // parts : len(files) * (number + 1) // parts]
    root = sysconfig.get_paths()["stdlib"]
    names = sorted(name for name in os.listdir(root) if _wanted("", name))
    return root, [path for name in names[number::parts] for path in _files(root, name)]


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _docstrings(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        docstring = ast.get_docstring(node, clean=False)
        if docstring:
            yield name, docstring
    inside = f"{name}.<locals>" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else name
    for part in _STATEMENTS:
        for child in getattr(node, part, ()):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _docstrings(child, f"{inside}.{child.name}" if inside else child.name)
            elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler):
                yield from _docstrings(child, inside)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable garbage collection: a syntax tree has no cycles, and searching for them takes longer than parsing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _files(root: str, path: str) -> Iterator[str]:
    full = os.path.join(root, path)
    if os.path.isdir(full):
        for name in sorted(os.listdir(full)):
            if _wanted(path, name):
                yield from _files(root, f"{path}/{name}")
    elif path.endswith(".py"):
        yield path


def _wanted(folder: str, name: str) -> bool:
    path = f"{folder}/{name}" if folder else name
    tests = name.startswith("test_") or name.endswith("_test.py")
    generated = name.startswith(("_sysconfigdata", ".")) or name.endswith(("_pb2.py", "_pb2_grpc.py"))
    return name not in _SKIPPED and path not in _SKIPPED_PATHS and not tests and not generated


def _folder(package: str) -> str:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise InputError(_missing(package))
    return next(iter(found.submodule_search_locations))


def _missing(package: str) -> str:
    return f"--corpus pydocs: {package} is not installed; install the dependencies, or name another corpus"


class _Pydocs(SourceFormat):
    def check(self, source: Source, text_column: str) -> None:
        package_versions()

    def identity(self, source: Source) -> list[str]:
        return [f"{package} {version}" for package, version in package_versions().items()]

    def columns(self, source: Source, text_column: str) -> list[list[str]]:
        return [list(META)]

    def split(self, source: Source, range_bytes: int) -> list[tuple[str, str, Part]]:
        return [(package, package, {}) for package in pydocs_pieces()]

    def read(self, piece: Piece, text_column: str, on_error: OnError) -> Iterator[Row | Broken]:
        return read_pydocs(piece.file)

    def extent(self, piece: Piece) -> float:
        return float(module_bytes(piece.file))

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the number of bytes of the modules up to and including the module of the last row."""
        last = next((row.meta["module"] for row in reversed(rows) if isinstance(row, Row)), None)
        return float(module_bytes(piece.file, last)) if last else 0.0


PYDOCS = _Pydocs(kind="pydocs", told_by="sizes of modules")
