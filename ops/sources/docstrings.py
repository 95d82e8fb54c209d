"""English text that is available on every machine: docstrings of the standard library and of some dependencies."""

from __future__ import annotations

import ast
import gc
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ops.errors import InputError
from ops.sources.prose import docstring_prose
from ops.sources.rows import Broken, OnError, Row, excerpt
from ops.sources.source import Part, Piece, Source
from ops.sources.source_format import Rows, SourceFormat

STANDARD_LIBRARY = "stdlib"
PACKAGES = ("numpy", "spacy", "transformers")
META = ("package", "module")
PIECES = 2  # of each package, so that two workers share the work
_SKIPPED = {
    "__pycache__", "_vendor", "conftest.py", "dist-packages", "encodings", "idlelib", "lib2to3", "models",
    "pydoc_data", "site-packages", "test", "testing", "tests", "turtledemo",
}  # fmt: skip


def pydocs_pieces() -> list[str]:
    """Return the fixed list of pieces of `pydocs`: `stdlib:0`, `stdlib:1`, `numpy:0`, ..."""
    return [f"{name}:{part}" for name in (STANDARD_LIBRARY, *PACKAGES) for part in range(PIECES)]


def package_versions() -> dict[str, str]:
    """Return the version of Python, and of each package.

    Raises:
        InputError: one of the packages is not installed.
    """
    versions = {STANDARD_LIBRARY: ".".join(map(str, sys.version_info[:3]))}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError as error:
            raise InputError(_missing(package)) from error
    return versions


def read_pydocs(piece: str) -> Rows:
    """Yield the docstrings of one piece as prose, in the order of modules and lines.

    `doc_id` is `module:qualified name`, and the metadata are package and module. Tests, tables and folders `models`,
    whose docstrings are repetitive, are left out. A file that cannot be parsed is `broken`.

    Args:
        piece: one of `pydocs_pieces`.

    Raises:
        InputError: the piece's package is not installed.
    """
    package = piece.partition(":")[0]
    for module, file in _modules(piece):
        try:
            docstrings = _parsed(file.read_bytes())
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            yield Broken(excerpt(f"{module}: {error}"), f"{module}:", "broken")
            continue
        for name, docstring in docstrings:
            if prose := docstring_prose(docstring):
                yield Row(prose, f"{module}:{name}", dict(zip(META, (package, module), strict=True)))


def _modules(piece: str) -> list[tuple[str, Path]]:
    """Return the names and the files of a piece's modules, sorted by name."""
    package, _, part = piece.partition(":")
    if package == STANDARD_LIBRARY:
        root = Path(sysconfig.get_paths()["stdlib"])
        files = list(_files(root))
    else:
        found = find_spec(package)
        if found is None or not found.submodule_search_locations:
            raise InputError(_missing(package))
        folder = Path(next(iter(found.submodule_search_locations)))
        root, files = folder.parent, list(_files(folder))
    names = {
        str(file.relative_to(root).with_suffix("")).removesuffix("/__init__").replace("/", "."): file for file in files
    }
    return sorted(names.items())[int(part) :: PIECES]


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _SKIPPED or path.name.startswith((".", "test_", "_sysconfigdata")):
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix == ".py":
            yield path


def _parsed(source: bytes) -> list[tuple[str, str]]:
    """Return the docstrings of a module, which is not run.

    A syntax tree has no cycles, and searching for them would take longer than parsing.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(_docstrings(ast.parse(source), ""))
    finally:
        if collects:
            gc.enable()


def _docstrings(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Iterator[tuple[str, str]]:
    """Yield the qualified names and the docstrings of a module, of its classes and functions, and of those in them."""
    if docstring := ast.get_docstring(node, clean=False):
        yield name, docstring
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _docstrings(child, f"{name}.{child.name}" if name else child.name)


def _missing(package: str) -> str:
    return f"--corpus pydocs: {package} is not installed; install the dependencies, or name another corpus"


class _Pydocs(SourceFormat):
    def check(self, source: Source, text_column: str) -> None:
        package_versions()

    def identity(self, source: Source) -> list[str]:
        return [f"{package} {version}" for package, version in package_versions().items()]

    def columns(self, source: Source, text_column: str) -> list[list[str]]:
        return [list(META)]

    def split(self, source: Source) -> list[tuple[str, str, Part]]:
        return [(piece, piece, {}) for piece in pydocs_pieces()]

    def read(self, piece: Piece, text_column: str, on_error: OnError) -> Rows:
        return read_pydocs(piece.file)

    def extent(self, piece: Piece) -> float:
        return float(len(_modules(piece.file)))

    def extent_of(self, piece: Piece, rows: Sequence[Row | Broken]) -> float:
        """Return the number of modules up to and including the module of the last row."""
        last = next((row.meta["module"] for row in reversed(rows) if isinstance(row, Row)), "")
        return float(sum(module <= last for module, _ in _modules(piece.file)))


PYDOCS = _Pydocs(kind="pydocs")
