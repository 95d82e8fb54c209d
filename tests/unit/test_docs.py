"""What README and docs/ promise of themselves: their size, links, paths, columns and licences."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from ops.schema import TABLES
from tests.conftest import ROOT

DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
SUGGESTED = {"ops/sources/xml.py"}  # an example of what one might add
CONTROL = ("control", "string", "")
TYPES = {pa.float32(): "float32", pa.float64(): "float64"}


def _prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _type(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        return f"list<{_type(type_.value_type)}>"
    if pa.types.is_struct(type_):
        fields = ", ".join(f"{field.name} {_type(field.type)}" for field in type_)
        return f"struct<{fields}>" if fields else "struct of strings"
    return TYPES.get(type_, str(type_))


def test_the_pages_are_short_enough_to_read() -> None:
    assert (ROOT / "README.md").stat().st_size <= 10_000
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in DOCS) <= 43_250


def test_a_page_says_first_what_it_is_about_and_the_index_leads_to_it() -> None:
    first = re.compile(r"# .*\n\n\w")
    assert [page.name for page in DOCS if not first.match(page.read_text(encoding="utf-8"))] == []
    assert "](docs/index.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert [page.name for page in DOCS if f"]({page.name})" not in index] == ["index.md"]


def _broken(page: Path) -> Iterator[str]:
    """The links of a page that lead nowhere, and the files that it names and that do not exist."""
    for link in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not link.startswith("https://") and not (target.exists() and (not anchor or anchor in _anchors(target))):
            yield link
    for path in re.findall(r"`((?:ops|jobs|tests|bench|docs)/[\w/.*-]*)`", _prose(page)):
        if path not in SUGGESTED and not re.search(r"[A-Z]{3}", path) and not any(ROOT.glob(path.rstrip("/"))):
            yield path


def test_links_lead_somewhere_and_files_that_are_named_exist() -> None:
    broken = {str(page.relative_to(ROOT)): list(_broken(page)) for page in PAGES}
    assert {page: links for page, links in broken.items() if links} == {}


def test_every_column_is_documented() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS)
    tables = [
        re.findall(r"^\| `(\w+)` \| `([^`]+)`( or null)? \|", block, re.MULTILINE) for block in text.split("\n\n")
    ]
    columns = {
        name: [(c.name, _type(c.type), " or null" * c.nullable) for c in table.columns]
        for name, table in TABLES.items()
    }
    for name, own in columns.items():
        of = columns.get(name.removesuffix("_controls"), own)
        if own == [CONTROL, *of]:  # the columns of another table are not repeated
            assert [CONTROL] in tables, f"{name}: docs/ need the row {CONTROL}"
            own = of
        assert own in tables, f"{name}: docs/ need the rows {own}"


def test_licences_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    weights = json.loads((ROOT / "ops/english/pipeline/meta.json").read_text(encoding="utf-8"))
    terms = (ROOT / "ops/english/LICENSE-weights").read_text(encoding="utf-8")
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert all((ROOT / name).is_file() for name in project["license-files"])
    assert "[Apache-2.0](LICENSE)" in readme
    assert f"[{weights['license']}](ops/english/LICENSE-weights)" in readme
    assert weights["license"] in terms
    for source in weights["sources"]:
        assert re.search(r"\(([\w-]+/[\w-]+)", source)[1] in terms  # type: ignore[index]
