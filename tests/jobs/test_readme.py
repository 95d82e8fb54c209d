"""What README and docs/ say can be typed, can be typed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ops.schema import TABLES
from tests.conftest import FAMILIES, ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
# An audit needs a corpus of several data sets, which that of `make small` is not.
QUERIES = list(dict.fromkeys(re.findall(r"```sql\n(.*?)```", TEXT.replace("runs/six", "runs/small"), re.DOTALL)))


def test_every_table_has_a_query() -> None:
    for table in {*TABLES, "activations"}:
        assert any(f"runs/small/{table}/" in query for query in QUERIES), table


def _family(query: str) -> str:
    """Return the name of the runs that a query reads: tests/conftest.py lets the process do it that makes these."""
    return next((name for name in FAMILIES if f"runs/small/{name}/" in query), "main")


@pytest.mark.parametrize("query", QUERIES, ids=_family)
def test_every_query_runs(run_with: Callable[..., Path], query: str) -> None:
    finished = run_with(*re.findall(r"runs/small/([\w/]+)/", query))
    # The documented run is of docstrings; these sentences have other keys.
    query = query.replace("meta['package']", "meta['topic']")
    duckdb.sql(query.replace("runs/small", str(finished))).fetchall()


def test_the_python_lines_run(small_run: tuple[Path, Path], tmp_path: Path) -> None:
    found = [
        code
        for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
        if "runs/small" in code and "def " not in code
    ]
    assert len(found) == 2
    for code in found:
        code = code.replace("runs/small", str(small_run[0])).replace("meta['package']", "meta['topic']")
        names: dict[str, Any] = {}
        for line in code.replace('split="train"', f'split="train", cache_dir="{tmp_path}"').splitlines():
            exec(line, names)
            assert not line.startswith("topk = ") or len(names["topk"]) > 0
    assert "topic" in names["sentences"].columns


def test_the_lines_on_the_english_pipeline_run(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (code for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if "ops.english" in code)
    exec(code, {})
    assert capsys.readouterr().out.startswith("(ROOT (S (NP (DT The) ")
