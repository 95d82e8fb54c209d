"""What a reader sees of a report in a real browser: wide and narrow, in the dark, on paper, without scripts."""

import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jobs.browse.server import Browser
from jobs.report import job as report
from jobs.report.job import ReportConfig
from jobs.show import job as show
from jobs.show.job import ShowConfig
from ops.errors import InputError
from ops.facts.query import parse_query
from tests.unit.report.browser import NEEDS
from tests.unit.report.tab import Tab
from tests.unit.report.valid_html import check_html

pytestmark = [NEEDS, pytest.mark.slow]
SIZES = [(1300, 900), (390, 844)]

# Return the matching elements that are completely on the first screen and not covered by others.
SEEN = """
(what => [...document.querySelectorAll(what)].filter(e => {
  const box = e.getBoundingClientRect();
  if (!box.width || !box.height || !e.checkVisibility({visibilityProperty: true})) return false;
  if (box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth) return false;
  const over = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height / 2, 8));
  return e.contains(over);
}))
"""


@pytest.fixture(scope="module")
def out(explain_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with explanations whose report was moved elsewhere, with nothing left where it was made."""
    folder = tmp_path_factory.mktemp("pages") / "run"
    shutil.copytree(explain_run[0], folder)
    told = with_findings(folder)
    report.JOB.run(ReportConfig(out=str(folder), best=3, neurons=("2:7", f"{told[0]}:{told[1]}")))
    shutil.move(folder / "report", folder.parent / "moved")
    return folder


def with_findings(out: Path) -> tuple[int, int]:
    """The neuron whose better pole has the strongest pattern."""
    sure = [r for r in rows(out, "patterns", rank=1) if r["q_value"] < 0.05 and r["support"] >= 3 and r["g2"] > 0]
    known = [r for r in sure if better(out, r["layer"], r["unit"])["pole"] == r["pole"]]
    best = max(known, key=lambda row: (row["g2"], row["layer"], row["unit"]))
    return best["layer"], best["unit"]


@pytest.fixture(scope="module")
def with_marks(out: Path, site: Path) -> str:
    """The address of that neuron's page."""
    layer, unit = with_findings(out)
    return (site / "neurons" / f"{layer}-{unit}.html").as_uri()


@pytest.fixture(scope="module")
def site(out: Path) -> Path:
    return out.parent / "moved"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with Tab(tmp_path_factory.mktemp("tab")) as opened:
        yield opened


def rows(out: Path, table: str, **where: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(
        out / table, filters=[(name, "=", value) for name, value in where.items()]
    ).to_pylist()
    return found


def better(out: Path, layer: int, unit: int) -> dict[str, Any]:
    """The row of explanations/ of the pole that is explained better."""
    own = rows(out, "explanations", layer=layer, unit=unit)
    return min(own, key=lambda row: (row["verdict"] != "rule", -(row["f1"] or 0)))


@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_first_screen_answers(out: Path, site: Path, tab: Tab, width: int, height: int, is_linked: bool) -> None:
    """Also where a link has named the pole."""
    tab.show(width, height)
    told = better(out, 2, 7)
    tab.open((site / "neurons" / "2-7.html").as_uri() + f"#{told['pole']}" * is_linked)
    assert tab.tell(f"{SEEN}('.explained').map(e => e.textContent)") == [told["text"]]
    (evidence,) = tab.tell(f"{SEEN}('.evidence').map(e => e.textContent)")
    assert f"F1 {told['f1']:.2f}" in evidence
    (score,) = rows(out, "scores", layer=2, unit=7, pole=told["pole"])
    assert f"Held-out score {score['auc']:.2f}" in evidence
    assert re.search(r"[\d.]+ words a sentence", evidence)
    assert tab.tell(f"{SEEN}('#find').length") == 1
    assert tab.tell(f"{SEEN}('.steps a').length") >= 2
    assert tab.tell(f"{SEEN}('.shading i').length") == 7
    shaded = "li => li.querySelector('[class^=p],[class^=n]') && !li.matches('.hub')"
    winners = tab.tell(
        f"{SEEN}('ol.winners li').filter({shaded}).map(li => [li.parentNode.dataset.pole, +li.dataset.rank])"
    )
    assert len(winners) >= 8
    assert {pole for pole, _ in winners} == {told["pole"]}
    assert [rank for _, rank in winners] == [*range(1, len(winners) + 1)]
    assert tab.said == []


@pytest.mark.parametrize("width", [1300, 360])
def test_no_page_scrolls_sideways_and_a_phone_shows_the_numbers_of_findings(site: Path, tab: Tab, width: int) -> None:
    tab.show(width, 800)
    outside = "b => b.left < 0 || b.right > innerWidth || !b.width"
    cells = "[...document.querySelectorAll('td.r')].filter(c => c.textContent.trim())"
    for page in ("index.html", "neurons/2-7.html", "side/explain.html"):
        tab.open((site / page).as_uri())
        tab.tell("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert tab.tell("document.documentElement.scrollWidth") <= width, page
        if width < 500:
            hidden = "[...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth + 1)"
            assert tab.tell(f"{hidden}.map(s => s.textContent.slice(0, 60))") == [], page
            assert tab.tell(f"{cells}.length") > 10, page
            assert tab.tell(f"{cells}.map(c => c.getBoundingClientRect()).filter({outside}).length") == 0, page
            titles = tab.tell(f"{cells}.map(c => getComputedStyle(c, '::before').content)")
            assert all(len(title) > 2 and title != "none" for title in titles), "each number says what it is"


def test_what_is_typed_is_found_in_the_order_of_the_terminal_and_the_server(
    out: Path, site: Path, tab: Tab, capsys: pytest.CaptureFixture[str]
) -> None:
    tab.show(1300, 900)
    tab.open((site / "index.html").as_uri())
    tab.tell("document.getElementById('find').focus()")
    sure = [row for row in rows(out, "patterns", kind="word", rank=1) if row["g2"] > 0 and row["q_value"] < 0.05]
    word, (layer, _) = sure[0]["pattern"], with_findings(out)
    pages, compared = Browser(str(out), 5, 60).pages, 0
    for written in (
        word.capitalize(),
        f"{word} lift:>3 q:<0.01",
        *("noun", "verb", "preposition"),
        "noun lift:>1.5",
        f"noun layer:{layer}",
        "verdict:none",
    ):
        tab.tell("document.getElementById('find').value = document.getElementById('found').textContent = ''")
        tab.open((site / "index.html").as_uri())
        tab.tell("document.getElementById('find').focus()")
        tab.type(written)
        tab.wait("!document.getElementById('found').hidden")
        found = tab.tell("[...document.querySelectorAll('#found tbody tr')].map(row => row.cells[0].textContent)")
        capsys.readouterr()
        show.JOB.run(ShowConfig(out=str(out), find=written, format="json"))
        expected = [f"{row['layer']}:{row['unit']} {row['pole']}" for row in json.loads(capsys.readouterr().out)]
        served = re.findall(r">(\d+:\d+ \w+)</a>", str(pages.search({"q": written}).body))
        assert found == expected == served, written
        compared += len(found)
    assert compared > 20
    for wrong in ("lift:>2", "tag:", "noun pole:sideways", "noun layer:>2", "pole:top pole:bottom noun", '"a" b'):
        tab.tell(f"Object.assign(document.getElementById('find'), {{ value: {json.dumps(wrong)} }})")
        tab.tell("document.getElementById('find').dispatchEvent(new Event('input'))")
        tab.wait("!document.querySelector('#found table')")
        assert " found for " not in tab.tell("document.getElementById('found').textContent"), wrong
        with pytest.raises(InputError):
            parse_query(wrong)
    tab.tell("document.getElementById('find').value = ''")
    tab.type("2:7")
    tab.press("Enter")
    tab.wait("location.pathname.endsWith('/neurons/2-7.html') && document.readyState === 'complete'")
    missing = next(f"1:{unit}" for unit in range(12) if not (site / "neurons" / f"1-{unit}.html").exists())
    tab.tell("document.getElementById('find').focus()")
    tab.type(missing)
    tab.press("Enter")
    tab.wait("location.pathname.endsWith('/index.html') && document.readyState === 'complete'")
    assert f"Neuron {missing}, " in tab.wait(
        "document.getElementById('cell').textContent.includes('Neuron') && cell.textContent"
    )
    assert tab.said == []


def test_keys_reach_everything_and_a_finding_marks_its_sentences(with_marks: str, tab: Tab) -> None:
    tab.show(1300, 900)
    tab.open(with_marks)
    alive = "a[href], button, summary, input"
    shown = f"[...document.querySelectorAll('{alive}')].filter(e => e.checkVisibility({{contentVisibilityAuto: true}}))"
    wanted = tab.tell(f"window.all = {shown}; all.length")
    assert wanted > 10
    reached = set()
    for _ in range(3 * wanted):
        tab.press("Tab")
        reached.add(tab.tell("all.indexOf(document.activeElement)"))
        if len(reached - {-1}) == wanted:
            break
    assert reached - {-1} == set(range(wanted))
    assert tab.tell("document.querySelectorAll('button.pattern').length") >= 1
    tab.tell("document.querySelector('button.pattern').focus()")
    tab.press(" ")
    ranks = tab.tell("document.activeElement.dataset.winners.split(' ').filter(r => r)")
    marked = "[...document.querySelector('section').querySelectorAll('li.match')].map(li => li.dataset.rank)"
    assert tab.tell(marked) == ranks
    listed = tab.tell("document.querySelector('section').querySelectorAll('ol.winners[data-pole] > li').length")
    assert (
        tab.tell("document.querySelector('p.chosen').textContent")
        == f"{len(ranks)} of these {listed} sentences have it"
    )


def test_a_link_to_the_other_pole_shows_it(out: Path, site: Path, tab: Tab) -> None:
    tab.show(1300, 900)
    other = {"top": "bottom", "bottom": "top"}[better(out, 2, 7)["pole"]]
    tab.open(f"{(site / 'neurons' / '2-7.html').as_uri()}#{other}")
    tab.wait(f"document.getElementById('{other}').closest('details').open")
    tab.wait(f"Math.abs(document.getElementById('{other}').getBoundingClientRect().top) < 200")


def test_a_moved_report_shows_all_figures_also_in_the_dark(site: Path, tab: Tab) -> None:
    tab.show(1300, 900, dark=True)
    for page in ("index.html", "side/explain.html"):
        tab.open((site / page).as_uri())
        tab.tell("document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
        tab.wait("[...document.images].every(i => i.complete)")
        sizes = tab.tell("[...document.images].map(i => i.naturalWidth)")
        assert sizes
        assert all(size > 100 for size in sizes), page
    for path in site.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"#]+)', path.read_text(encoding="utf-8")):
            assert link == "data:," or (path.parent / link).resolve().is_relative_to(site), link
            assert link == "data:," or (path.parent / link).exists(), link
    svg = next(site.glob("figures/*.svg"))
    tab.open(svg.as_uri())
    ground = tab.tell("getComputedStyle(document.querySelector('#patch_1 path')).fill")
    assert ground == "rgb(255, 255, 255)", "a figure has a light ground of its own"


def test_paper_keeps_shading_bars_and_legends(with_marks: str, tab: Tab) -> None:
    tab.show(1300, 900, dark=True, medium="print")
    tab.open(with_marks)
    style = "getComputedStyle(document.querySelector('{}')).{}"
    for what in ("ol.winners .p9, ol.winners .n9", ".shading .p9", ".findings .bars .share"):
        assert tab.tell(style.format(what, "webkitPrintColorAdjust")) == "exact", what
        assert tab.tell(style.format(what, "backgroundColor")) not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"), what
    assert tab.tell(style.format("body", "backgroundColor")) == "rgb(255, 255, 255)", (
        "paper is white, whatever the screen"
    )
    assert tab.tell(style.format("header form", "display")) == "none"
    assert tab.tell(style.format("ol.winners .text", "display")) == "block", "whole sentences, with their spaces"


def test_whole_sentences_are_shown_on_demand_with_their_spaces(site: Path, tab: Tab) -> None:
    tab.show(1300, 900)
    tab.open((site / "neurons" / "2-7.html").as_uri())
    display = "getComputedStyle(document.querySelector('ol.winners .text')).display"
    assert tab.tell(display) != "block"
    tab.tell("document.querySelector('.unclamp input').click()")
    assert tab.tell(display) == "block"
    assert tab.tell("getComputedStyle(document.querySelector('.rest .text')).display") == "block"


def test_without_scripts_nothing_looks_alive_that_is_not(site: Path, tab: Tab) -> None:
    tab.show(1300, 900, scripts=False)
    for page, holds in (("index.html", "What was run"), ("neurons/2-7.html", "What sets them apart")):
        tab.send("Page.navigate", url=(site / page).as_uri())
        tree = wait_for_tree(tab, holds)
        roles = {node["role"]["value"] for node in tree if not node.get("ignored")}
        assert not roles & {"button", "searchbox", "combobox", "textbox", "application"}, page
        assert "link" in roles
    tab.show(1300, 900)


def wait_for_tree(tab: Tab, name: str) -> list[dict[str, Any]]:
    """Return a page's nodes once there is one of this name: the page before has none."""
    for _ in range(600):
        nodes: list[dict[str, Any]] = tab.send("Accessibility.getFullAXTree")["nodes"]
        if any(name in node.get("name", {}).get("value", "") for node in nodes):
            return nodes
        time.sleep(0.05)
    raise TimeoutError


def test_the_server_s_field_leads_to_the_neuron_and_finds_anything(out: Path) -> None:
    pages = Browser(str(out), 5, 10).pages
    page = pages.search({"q": " 2:7 "})
    assert (page.instead, page.status) == ("neurons/2-7.html", 303)
    assert pages.search({"q": "9:9"}).instead == ""
    layer, unit = with_findings(out)
    (pattern,) = rows(out, "patterns", layer=layer, unit=unit, rank=1, pole=better(out, layer, unit)["pole"])[:1]
    found = str(pages.search({"q": f'"{pattern["pattern"]}"', "layer": str(layer)}).body)
    check_html(found)
    hostile = pages.search({"q": "<script>alert(1)</script>", "lift": "<b>"})
    check_html(str(hostile.body))
    assert hostile.status == 400
    assert "<script>alert" not in str(hostile.body)
    assert "&lt;script&gt;alert(1)" in str(hostile.body)
    assert 'id="find"' in str(pages.neuron("2-7").body)  # type: ignore[union-attr]
