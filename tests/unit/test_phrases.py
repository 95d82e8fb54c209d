"""Phrases that a reader would have to decode, and that are not to come back: and what to write in their place.

The words are those of compressed writing that found its way into all texts once. A pattern is listed only if every
place that it finds is wrong, so that good English is not in its way.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.all_jobs import find_jobs
from tests.conftest import ROOT

# What must not be written, and what to write in its place.
INSTEAD = {
    r"\banew\b": "again, or rebuild",
    r"\bnone given\b": "by default",
    r"\bunless (said|told|asked) otherwise\b|\bunless said\b": "by default",
    r"\bof before\b": "previous",
    r"\bgo(es)? on (at|with|where|then|there)\b|\bcommand goes on\b": "resume, or continue",
    r"\btold by\b": "identified by",
    r"\btakes? \w+ for done\b|\btaken for done\b": "is treated as complete",
    r"\b(files?|tables?|stage|folder|results?|run|until|when|once) (is|are|they are|it is|all are) whole\b": "complete",
    r"\b(lies|stands|stood) (at|below|beside|in|there|under)\b|\b(lie|stand) (below|beside|there)\b": "is in",
    r"\bbeside (it|them|the|its|a|an|each|that|this|those|these)\b": "next to, or with",
    r"\bwants? (a|an|the|its|one|two|no)\b": "requires",
    r"\bnot known of\b": "unknown",
    r"\bto be seen here\b": "is here",
    r"\bleads nowhere\b": "is broken",
    r"\bno more than these\b": "at most this many",
    r"\bwhatever it is of\b|\bwhat it is of\b": "name the thing",
    r"\bso many of each\b": "this many of each",
    r"\ba job is at it\b|\blikely at it\b": "a job is running",
}

_FOUND = re.compile("|".join(f"(?:{pattern})" for pattern in INSTEAD), re.IGNORECASE)
_CODE = re.compile(r"```.*?```", re.DOTALL)


def phrases_in(text: str) -> list[str]:
    """Return the phrases of a text that are not to be written, in the order in which they occur."""
    return [match.group() for match in _FOUND.finditer(" ".join(text.split()))]


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)  # type: ignore[misc]
    return None


def _texts(path: Path) -> list[str]:
    """Return the prose of a page, or the docstrings of a file and its other texts of three words or more."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [_CODE.sub("", source)]
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]
    loose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(v) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for v in node.values}
    others = [_text(node) or "" for node in ast.walk(tree) if id(node) not in loose | inside]
    return docstrings + [said for said in others if len(said.split()) >= 3]


def test_phrases_that_are_hard_to_read_do_not_come_back() -> None:
    pages = [*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    code = [path for folder in ("jobs", "ops", "bench") for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {path: [phrase for text in _texts(path) for phrase in phrases_in(text)] for path in pages + code}
    offenders = {str(path.relative_to(ROOT)): phrases for path, phrases in found.items() if phrases}
    assert offenders == {}, f"see INSTEAD in {Path(__file__).name} for what to write"


def test_the_help_of_every_job_is_without_them() -> None:
    for job, found in find_jobs().items():
        texts = [str(found.about).splitlines()[0], *(str(f.description) for f in found.options.model_fields.values())]
        assert [phrase for text in texts for phrase in phrases_in(text)] == [], job


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the same command goes on where it stopped", ["command goes on"]),
        ("sizes; none given: all", ["none given"]),
        ("made anew, told by hand", ["anew", "told by"]),
        ("the folder is\n    whole", ["folder is whole"]),
        ("ROOT stands for the top, and the whole corpus is read", []),
        ("besides, it wanders on its own", []),
    ],
)
def test_a_phrase_is_found_and_good_english_is_not(text: str, found: list[str]) -> None:
    assert phrases_in(text) == found
