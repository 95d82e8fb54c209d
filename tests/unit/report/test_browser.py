"""Pages in a real browser: what it shows, what it asks for, and where a click leads."""

import html
import json
import re
import shutil
from pathlib import Path

import pytest
from html5lib.html5parser import ParseError

from ops.errors import visible
from ops.facts.examples import peak_word
from ops.facts.neuron_facts import facts_by_pole
from ops.report.neuron_page import neuron_context
from ops.report.pages import ASSETS, FOLDER, render
from tests.unit.report.browser import NEEDS, browse
from tests.unit.report.hostile import DATASET, EXPLAINED, RUN, SHARED, TEXTS, neuron_tables
from tests.unit.report.tab import Tab
from tests.unit.report.valid_html import check_html


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An overview of two layers of three neurons, and the page of the one with hostile winners."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "neurons").mkdir()
    for name in ASSETS:
        shutil.copy(FOLDER / name, folder)
    tables, sentences = neuron_tables()
    samples = [sentences[2] | {"quantile": 0.5, "activation": 0.0}]
    page = neuron_context(facts_by_pole(RUN, tables, sentences), samples)
    around = {"neighbours": {"before": None, "after": None}, "pages": [(2, 1)]}
    (folder / "neurons" / "2-1.html").write_text(render("neuron.html", {**SHARED, **page, **around, "root": "../"}))
    values = {"top": [0.1, 0.2, None, 0.4, 0.5, 0.6], "bottom": [None] * 6}
    names = {"title": "strongest data set", "names": [DATASET], "values": {**values, "top": [0] * 6}}
    drawn = {
        "widths": [3, 3], "poles": ["top", "bottom"], "colours": 8, "pages": ["2-1"], "layer": 1, "every": False,
        "properties": {"auc": {"title": "score", "values": values}, "dataset": names},
    }  # fmt: skip
    explained = [
        {"layer": 2, "unit": 1, "pole": "top", **EXPLAINED, "others": others, "across": "local"}
        for others in ("", "2:2 and 12 others")
    ]
    overview = {
        "map": drawn, "audited": True, "best": [], "rules": explained, "findings": 3, "brief": "a & b.",
        "pages": [(2, 1)], "sides": [], "n_neurons": 6,
        "sentences": 4, "k": "4", "stages": {}, "sources": [{"source": DATASET, "dataset": DATASET, "kept": 4}],
        "options": {"site": "hidden", "pool": "mean", "special_tokens": "include", "dtype": "float32"},
    }  # fmt: skip
    (folder / "index.html").write_text(render("overview.html", {**SHARED, **overview, "root": ""}))
    return folder


@pytest.mark.slow
@NEEDS
def test_a_request_and_an_error_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text('<!DOCTYPE html><img src="http://127.0.0.1:9/a.png"><script>throw Error("seen")</script>')
    _, said, asked = browse(page.as_uri(), tmp_path)
    assert asked == ["http://127.0.0.1:9/a.png"]
    assert any("seen" in line for line in said)


@pytest.mark.slow
@NEEDS
def test_a_neuron_s_page_shows_hostile_text_as_it_is(site: Path, tmp_path: Path) -> None:
    shown, said, asked = browse((site / "neurons" / "2-1.html").as_uri(), tmp_path)
    assert said == []
    assert asked == []
    assert shown.count("<script") == 1, "its own alone"
    assert "<img" not in shown
    tables, sentences = neuron_tables()
    lines = re.findall(r'<li value="(\d+)".*?<bdi class="text">(.*?)</bdi>', shown, re.DOTALL)
    assert len(lines) == 2 * len(TEXTS)
    by_page = [t for pole in ("top", "bottom") for t in tables["token_activations"] if t["pole"] == pole]
    for (rank, line), tokens in zip(lines, by_page, strict=True):
        text = TEXTS[int(rank) - 1]
        assert html.unescape(re.sub(r"<[^>]*>", "", line)) == visible(text)
        peak = peak_word(tokens, sentences[tokens["sent_id"]])
        assert peak is not None
        marked = re.findall(r'<i class="[^"]*\bpeak\b[^"]*"[^>]*>(.*?)</i>', line, re.DOTALL)
        assert "".join(map(html.unescape, marked)) == visible(text[slice(*peak["span"])])


@pytest.mark.slow
@NEEDS
def test_a_click_in_the_map_leads_to_the_neuron_it_shows_and_a_pattern_to_its_winners(
    site: Path, tmp_path: Path
) -> None:
    program = """
      const frame = document.querySelector("iframe"), said = {};
      let loads = 0;
      frame.onload = () => {
        const page = frame.contentDocument;
        loads += 1;
        if (loads === 1) {
          const canvas = page.getElementById("atlas-map"), box = canvas.getBoundingClientRect();
          const at = (unit, layer) => ({ bubbles: true, view: frame.contentWindow,
            clientX: box.left + (unit + .5) / 3 * box.width, clientY: box.top + (layer + .5) / 2 * box.height });
          const make = (kind, where) => new frame.contentWindow.MouseEvent(kind, where);
          canvas.dispatchEvent(make("mousemove", at(0, 0)));
          said.first = page.getElementById("cell").textContent;
          const colour = page.getElementById("property");
          colour.value = "dataset"; colour.dispatchEvent(new frame.contentWindow.Event("change"));
          said.legend = page.getElementById("legend").textContent;
          canvas.dispatchEvent(make("click", at(1, 1)));
        } else {
          said.page = frame.contentWindow.location.pathname.split("/").pop();
          said.title = page.querySelector("h1").textContent;
          const button = [...page.querySelectorAll("button.pattern")].find(b => b.textContent.includes("was written"));
          button.click();
          said.chosen = page.querySelector("p.chosen").textContent;
          said.kept = [...page.querySelectorAll('ol.winners[data-pole="top"] li.match')].map(li => li.dataset.rank);
          said.marked = page.querySelector('ol.winners[data-pole="top"]').classList.contains("marked");
          button.click();
          said.again = page.querySelector('ol.winners[data-pole="top"]').classList.contains("marked");
          document.getElementById("said").textContent = JSON.stringify(said);
        }
      };
      frame.src = "site/index.html";
    """
    (tmp_path / "site").symlink_to(site)
    (tmp_path / "test.html").write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><iframe width="1100" height="800"></iframe>'
        f'<pre id="said"></pre><script>{program}</script>'
    )
    shown, console, asked = browse((tmp_path / "test.html").as_uri(), tmp_path)
    assert (console, asked) == ([], [])
    match = re.search(r'<pre id="said">(.*?)</pre>', shown, re.DOTALL)
    assert match is not None
    said = json.loads(html.unescape(match[1]))
    assert said["first"].startswith("Neuron 1:0, score: 0.1 (no page here: name it, atlas report --neurons 1:0)")
    assert said["legend"] == DATASET
    assert (said["page"], said["title"]) == ("2-1.html", "Neuron 2:1, highest activations")
    assert (said["kept"], said["marked"], said["again"]) == (["1"], True, False)
    assert said["chosen"] == "1 of these 4 sentences have it"


@pytest.mark.slow
@NEEDS
@pytest.mark.parametrize("width", [1300, 390])
def test_where_it_holds_and_its_lifts_by_data_set_are_seen(site: Path, tmp_path: Path, width: int) -> None:
    with Tab(tmp_path) as tab:
        tab.show(width, 844)
        tab.open((site / "neurons" / "2-1.html").as_uri())
        assert tab.tell("document.querySelector('.across').textContent") == "Holds in 1 of 2 data sets (not in books)"
        assert tab.tell("document.querySelector('.across').getBoundingClientRect().bottom < innerHeight")
        assert tab.tell("document.documentElement.scrollWidth") <= width
        box = tab.tell("{const b = document.querySelector('svg.lifts').getBoundingClientRect(); [b.left, b.right]}")
        assert 0 <= box[0] < box[1] <= width
        lines = tab.tell(
            "[...document.querySelectorAll('svg.lifts text:not(.tick):not(.none)')].map(t => t.firstChild.data)"
        )
        assert lines == [visible(DATASET)[:11] + "...", "books", "unseen"]
        # Readable without colour: what is surely above 1 is filled, and all else is not.
        dots = tab.tell(
            "[...document.querySelectorAll('svg.lifts circle')].map(c => [c.matches('.above'), "
            "getComputedStyle(c).fill === getComputedStyle(c).stroke])"
        )
        assert dots == [[True, True], [False, False]]
        one, first, second = tab.tell(
            "['.one', 'circle', 'circle:not(.above)'].map(w => document.querySelector('svg.lifts ' + w))"
            ".map(e => { const b = e.getBoundingClientRect(); return b.left + b.width / 2; })"
        )
        assert second < one < first
        assert tab.said == []


def test_pages_are_valid_html(site: Path) -> None:
    for path in site.rglob("*.html"):
        check_html(path.read_text())
    with pytest.raises(ParseError):
        check_html("<!DOCTYPE html><html lang=en><title>a</title><p><table></p></table>")


def test_nothing_is_loaded_from_elsewhere_and_pages_are_small(site: Path) -> None:
    for path in site.rglob("*.*"):
        text = path.read_text()
        assert len(text.encode()) < 1_000_000
        assert not re.search(r"https?:|@import|url[(]", text), path
        for link in re.findall(r'(?:src|href)="([^"]*)"', text):
            assert link in ("data:,", "#main") or re.fullmatch(r"(\.\./)?[\w/.-]+(#[\w-]+)?|#\w+", link), link
