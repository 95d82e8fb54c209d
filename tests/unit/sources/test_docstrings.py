import ast
import sys
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.sources.docstrings import PIECES, package_versions, read_pydocs
from ops.sources.rows import Broken, Row

SOURCE = '''"""This is the module of the test."""
import nothing_of_the_kind
def outer():
    """This is the outer function."""
    def inner():
        """This is the inner function."""
class Reader:
    """This is a class of readers."""
    async def read(self):
        """Args:
            x: This is a field of it.
        """
    @property
    def size(self):
        "This is the size of it."
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "sample_package_of_docs"
    for folder in ("", "sub", "tests", "_vendor"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "__init__.py").write_text('"""This is a package of it."""')
    (root / "code.py").write_text(SOURCE)
    (root / "test_code.py").write_text(SOURCE)
    (root / "broken.py").write_text("def :")
    (root / "notes.txt").write_text("x")
    monkeypatch.syspath_prepend(str(tmp_path))
    return root


def test_a_package_is_parsed_in_the_order_of_its_modules(package: Path) -> None:
    name = package.name
    rows = []
    for piece in range(PIECES):
        rows += read_pydocs(f"{name}:{piece}")
    assert [row.doc_id.removeprefix(name) for row in rows] == [
        *(":", ".code:", ".code:outer", ".code:outer.inner", ".code:Reader", ".code:Reader.size"),
        *(".broken:", ".sub:"),
    ], "every second module is in the second piece"
    assert rows[1] == Row(
        "This is the module of the test.", f"{name}.code:", {"package": name, "module": f"{name}.code"}
    )
    assert isinstance(rows[6], Broken)
    assert rows[6].reason == "broken"
    assert name not in sys.modules


def test_versions_name_python_first_and_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = package_versions()
    assert list(versions) == ["stdlib", "numpy", "spacy", "transformers"]
    assert versions["stdlib"] == ".".join(map(str, sys.version_info[:3]))
    monkeypatch.setattr("ops.sources.docstrings.PACKAGES", ("no_such_package_at_all",))
    with pytest.raises(InputError, match="no_such_package_at_all is not installed"):
        package_versions()


def test_the_standard_library_is_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every top-level module is in exactly one piece, and files are parsed rather than run."""
    seen: list[str] = []

    def parse(source: bytes) -> ast.Module:
        seen.append(source[:1].decode(errors="replace"))
        return ast.Module([ast.Expr(ast.Constant("This is a docstring of it."))], [])

    monkeypatch.setattr(ast, "parse", parse)
    rows = [row for part in range(PIECES) for row in read_pydocs(f"stdlib:{part}")]
    modules = [row.meta["module"] for row in rows if isinstance(row, Row)]
    assert len(modules) == len(set(modules)) == len(seen)
    assert {"abc", "json", "json.decoder", "typing", "email.message"} <= set(modules)
    assert not any(module.startswith(("test.", "idlelib", "lib2to3", "site-packages")) for module in modules)
