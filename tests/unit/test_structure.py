"""What holds for the code as a whole."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
OPS = sorted((ROOT / "ops").rglob("*.py"))
FILES = [*OPS, *sorted((ROOT / "jobs").rglob("*.py"))]


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
            "import_module",
            "__import__",
        ):
            yield from (str(a.value) for a in node.args if isinstance(a, ast.Constant))


def undocumented(parent: ast.AST, name: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                yield f"{name}.{node.name}"
            if isinstance(node, ast.ClassDef):
                yield from undocumented(node, f"{name}.{node.name}")


def test_the_code_is_found() -> None:
    names = {path.name for path in FILES}
    assert {"top_k.py", "topk.py", "_engine.py"} <= names


@pytest.mark.parametrize("path", OPS, ids=lambda p: str(p.relative_to(ROOT)))
def test_ops_know_neither_the_engine_nor_the_jobs(path: Path) -> None:
    tops = {name.partition(".")[0] for name in imported(ast.parse(path.read_text(encoding="utf-8")))}
    assert not tops & {"ray", "jobs"}


def test_nested_imports_are_seen() -> None:
    source = "def f():\n    if 1:\n        from ray.data import x\n    importlib.import_module('ray')\n"
    assert list(imported(ast.parse(source))) == ["ray.data", "ray"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_is_public_is_documented(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert list(undocumented(tree, path.stem)) == []
