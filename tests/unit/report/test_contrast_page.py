"""The page of a contrast in a real browser: its sentence and lists are seen, wide and narrow, light and dark."""

from pathlib import Path
from typing import Any

import pytest

from ops.report.pages import ASSETS, FOLDER, render
from ops.report.side_pages import side_context
from tests.unit.facts.made_up_rows import write_tables
from tests.unit.facts.test_contrasts import PROBES, unit
from tests.unit.report.browser import NEEDS
from tests.unit.report.hostile import SHARED
from tests.unit.report.tab import Tab
from tests.unit.report.valid_html import check_html

CONTROL = {"group": "mood=glad", "layer": 1, "measure": "significant", "n": 100}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    tables: dict[str, list[dict[str, Any]]] = {
        "contrast/units": [unit(7, 2, 0.01, 0.6), unit(5, 1, 0.001, 0.8)],
        "contrast/probes": PROBES,
        "contrast/controls": [{**CONTROL, "control": "units", "mean": 0.5}],
    }
    store = write_tables(tmp_path / "run", tables)
    names = {name: [{"name": f"{name}/part-00000.parquet", "rows": len(own)}] for name, own in tables.items()}
    context = side_context(store, {"stages": {}, "tables": names}, "contrast")
    for name in ASSETS:
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    (tmp_path / "side").mkdir()
    file = tmp_path / "side" / "contrast.html"
    file.write_text(render("side.html", {**SHARED, **context, "root": "../"}))
    return file


def test_the_page_of_a_contrast_is_valid_and_begins_with_its_sentence(page: Path) -> None:
    text = page.read_text()
    check_html(text)
    first = text.index("one unit (AUC 0.65) does better than one rotated axis (0.62) and worse than words (0.70)")
    assert first < text.index("held-out AUC of the k best units") < text.index("1,200 sentences of 40 documents")
    assert text.index(">2:5<") < text.index(">2:7<")


@pytest.mark.slow
@NEEDS
@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_the_sentence_is_in_sight_and_nothing_is_too_wide(page: Path, tmp_path: Path, width: int, dark: bool) -> None:
    with Tab(tmp_path) as tab:
        tab.show(width, 844, dark=dark)
        tab.open(page.as_uri())
        said = "document.querySelector('ul.told li')"
        assert tab.tell(f"{said}.textContent").startswith("mood=glad: one unit")
        assert tab.tell(f"{said}.getBoundingClientRect().bottom < innerHeight")
        assert tab.tell("document.documentElement.scrollWidth") <= width
        ink, ground = tab.tell(f"[getComputedStyle({said}).color, getComputedStyle(document.body).backgroundColor]")
        assert ink != ground
        assert tab.said == []
