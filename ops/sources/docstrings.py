"""English text that is available on every machine: docstrings of the standard library and of some dependencies."""

import ast
import inspect
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ops.errors import InputError
from ops.sources.rows import Broken, OnError, Row, excerpt
from ops.sources.source import Part, Piece, Source
from ops.sources.source_format import Rows, SourceFormat

STANDARD_LIBRARY = "stdlib"
PACKAGES = ("numpy", "spacy", "transformers")
PIECES = 2  # of each package, so that two workers share the work
_SKIPPED = {
    "__pycache__", "_vendor", "conftest.py", "dist-packages", "encodings", "idlelib", "lib2to3", "models",
    "pydoc_data", "site-packages", "test", "testing", "tests", "turtledemo",
}  # fmt: skip
_MISSING = "--corpus pydocs: {} is not installed; install the dependencies, or name another corpus"
_Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# What is prose in a docstring, without code, fields, tables and markup.
_MARKUP = (
    (re.compile(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)|\s*\[#?\w*\]_"), ""),  # comments, images and footnotes
    (re.compile(r"\[([^\[\]]+)\]\([^()]*\)"), r"\1"),  # a link
    (re.compile(r":[\w:+.-]+:(?=`)|(?<=`)[!~](?=\w)|(?<=`)__?\b"), ""),  # a role, and its prefix
    (re.compile(r"\[?(`{1,2})~?([^`<]+?)(?:\s*<[^`>]*>)?\1\]?_{0,2}"), r"\2"),  # code, and a name that is a link
    (re.compile(r"(?<![\w*])(\*{1,2})([^\s*](?:[^*]*[^\s*])?)\1(?![\w*])"), r"\2"),  # emphasis
    (re.compile(r"`([\w.-]+)'"), r"\1"),
    # The dots of torch.nn.Linear would end two sentences.
    (re.compile(r"(?<![\w.])(?:[A-Za-z_]\w*\.)+(?=[A-Z]\w)"), ""),
)
_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
# A paragraph that begins like this is a field, a directive, a doctest, a comment, an item, a table or code.
_NOT_PROSE = re.compile(r"[:@.>$%#|+<=\-*•~`]|\w[.)]\s|\d")
_HEADING = re.compile(r"(?i)[^.]{1,60}\n([=\-~^#*])\1{2,}\s*\n?|(?:notes?|warnings?|important|tips?)\s*:{1,2}\s+")
_FIELDS = re.compile(r"(?i)(?:args|arguments|parameters|returns?|yields?|raises|see also|references|examples?|usage)\b")
_BOUNDARY = re.compile(r"(?<=[.!?])(?<!\b[ie]\.[ge]\.)[\"')\]]*\s+(?=[\"'(]?[A-Z])")
_SENTENCE = re.compile(r"[\"'(]*[A-Z].*[^.](?<!\be\.g)(?<!\bi\.e)[.!?][\"')\]]*")
_WORD = re.compile(r"[\"'(\[]*[A-Za-z]+(?:['\u2019/-][A-Za-z]+)*[\"')\]]*[,.;:!?]*[\"')\]]*")
_CODE = re.compile(
    r"[{}\\<>|$`@^\u2190-\u22ff]|[=!~]=|[\w\])]\s?[-+*/]?=|\w\([\w\"'][^)]*,|https?:|::|;$|\.\.\.|\s[*+/&]\s|\w\*|(?:^|\s)--?\w"
    r"|^\S+(?:\s\([^)]*\))?(?::|\s--?)\s"
)
_FUNCTION_WORD = re.compile(
    r"(?i)\b(?:the|an?|of|to|is|are|be|in|for|and|or|not|this|it|its|with|by|on|if|as|from|into|at|we|you|that|can"
    r"|will)\b"
)
_FEWEST_WORDS, _MOST_WORDS, _SHARE_OF_WORDS, _SHORT = 3, 100, 0.7, 5  # without a function word, more are a list


def pydocs_pieces() -> list[str]:
    """Return the fixed list of pieces of `pydocs`: `stdlib:0`, `stdlib:1`, `numpy:0`, ..."""
    return [f"{name}:{part}" for name in (STANDARD_LIBRARY, *PACKAGES) for part in range(PIECES)]


def package_versions() -> dict[str, str]:
    """Return the version of Python, and of each package.

    Raises:
        InputError: one of the packages is not installed.
    """
    try:
        packages = {name: version(name) for name in PACKAGES}
    except PackageNotFoundError as error:
        raise InputError(_MISSING.format(error.name)) from error
    return {STANDARD_LIBRARY: ".".join(map(str, sys.version_info[:3])), **packages}


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
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            yield Broken(excerpt(f"{module}: {error}"), f"{module}:", "broken")
            continue
        for name, docstring in _docstrings(tree, ""):
            if prose := docstring_prose(docstring):
                yield Row(prose, f"{module}:{name}", {"package": package, "module": module})


def _modules(piece: str) -> list[tuple[str, Path]]:
    """Return the names and the files of a piece's modules, sorted by name."""
    package, _, part = piece.partition(":")
    if package == STANDARD_LIBRARY:
        root = folder = Path(sysconfig.get_paths()["stdlib"])
    elif (spec := find_spec(package)) and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0])
        root = folder.parent
    else:
        raise InputError(_MISSING.format(package))
    paths = {file.relative_to(root).with_suffix(""): file for file in _files(folder)}
    names = {".".join(path.parts).removesuffix(".__init__"): file for path, file in paths.items()}
    return sorted(names.items())[int(part) :: PIECES]


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _SKIPPED or path.name.startswith((".", "test_", "_sysconfigdata")):
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix == ".py":
            yield path


def _docstrings(node: _Scope, name: str) -> Iterator[tuple[str, str]]:
    """Yield the qualified names and the docstrings of a module, of its classes and functions, and of those in them."""
    if docstring := ast.get_docstring(node, clean=False):
        yield name, docstring
    for child in node.body:
        if isinstance(child, _Scope):
            yield from _docstrings(child, f"{name}.{child.name}" if name else child.name)


def docstring_prose(docstring: str) -> str:
    """Return the sentences of a docstring's plain paragraphs, with blank lines between paragraphs; may be empty.

    A paragraph with an indented line is a section of fields, a definition, an item or code, and is left out.

    >>> docstring_prose("Add a :class:`Row`.\\n\\nArgs:\\n    row: The row.\\n\\n>>> add(row)")
    'Add a Row.'
    """
    paragraphs, in_fields = [], False
    for block in re.split(r"\n\s*\n", _FENCED.sub("", inspect.cleandoc(docstring))):
        heading = _HEADING.match(block)
        in_fields = _FIELDS.match(block) is not None if heading else in_fields and not block[:1].isspace()
        text = block[heading.end() :] if heading else block
        if in_fields or _NOT_PROSE.match(text) or re.search(r"(?:^|\n)\s", text):
            continue
        for pattern, replacement in _MARKUP:
            text = pattern.sub(replacement, text)
        paragraphs.append(" ".join(filter(is_prose, _BOUNDARY.split(" ".join(text.split())))))
    return "\n\n".join(filter(None, paragraphs))


def is_prose(sentence: str) -> bool:
    """Return whether a text starts and ends like a sentence, is mostly words, and contains no code.

    >>> is_prose("It returns the sum."), is_prose("See x[i] = 3."), is_prose("The sum of:")
    (True, False, False)
    """
    tokens = sentence.split()
    words = sum(_WORD.fullmatch(token) is not None for token in tokens)
    return (
        max(_FEWEST_WORDS, _SHARE_OF_WORDS * len(tokens)) <= words <= _MOST_WORDS
        and _SENTENCE.fullmatch(sentence) is not None
        and _CODE.search(sentence) is None
        and (len(tokens) <= _SHORT or _FUNCTION_WORD.search(sentence) is not None)
        and all(sentence.count(a) == sentence.count(b) for a, b in ("()", "[]"))
        and sentence.count('"') % 2 == 0
    )


class _Pydocs(SourceFormat):
    def check(self, source: Source, text_column: str) -> None:
        package_versions()

    def identity(self, source: Source) -> list[str]:
        return [f"{package} {version}" for package, version in package_versions().items()]

    def columns(self, source: Source, text_column: str) -> list[list[str]]:
        return [["package", "module"]]

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
