"""A reader's own sentence on the pages of `browse`: shaded, in its place, cut, escaped, and one after another."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow.parquet as pq
import pytest

from jobs.browse import own_texts
from jobs.browse.own_texts import OwnTexts
from jobs.browse.server import Browser
from jobs.respond.steps import Responder
from jobs.run_folder.run import RunReader
from ops.errors import InputError
from tests.conftest import ROOT
from tests.jobs.test_browse import ask
from tests.unit.report.browser import NEEDS
from tests.unit.report.tab import Tab
from tests.unit.report.valid_html import check_html

TEXT = "The storm tore the roof off the old barn."
MARKUP = "<b>bold</b> & <script>alert(1)</script> were typed."


@pytest.fixture(scope="module")
def out(explain_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own") / "run"
    shutil.copytree(explain_run[0], folder)
    return folder


def serve(out: Path) -> tuple["subprocess.Popen[str]", int]:
    command = [sys.executable, "-m", "jobs.browse", "--out", str(out), "--port", "0"]
    served = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None
    address = re.match(r"http://127\.0\.0\.1:(\d+)/ serves", served.stdout.readline())
    assert address is not None
    return served, int(address[1])


@pytest.fixture(scope="module")
def port(out: Path) -> Iterator[int]:
    served, number = serve(out)
    with served:
        yield number
        served.send_signal(signal.SIGINT)
        assert served.wait(20) == 0


def files(out: Path) -> dict[str, int]:
    return {str(path.relative_to(out)): path.stat().st_size for path in sorted(out.rglob("*")) if path.is_file()}


def own(text: str) -> str:
    return f"/respond?{urlencode({'text': text})}"


def test_the_answer_and_the_neuron_s_page_have_the_sentence(port: int, out: Path) -> None:
    before = files(out)
    status, page = ask(port, own(TEXT))
    assert status == 200
    check_html(page)
    assert "of 24 neurons are in the outer 1 % of the corpus" in page
    rows = re.findall(r'<label><input type="radio".*?> (\d+):(\d+) (highest|lowest)</label>', page)
    assert 0 < len(rows) <= 20
    assert len(re.findall(r'<p id="t\d+">', page)) == len(rows)
    status, page = ask(port, f"/neurons/{rows[0][0]}-{rows[0][1]}.html?{urlencode({'text': TEXT})}")
    assert status == 200
    check_html(page)
    assert page.count('<li class="own">') == 2, "one for each pole"
    assert re.search(r"Your sentence is (above|below) [\d.]+ % of the corpus", page)
    assert files(out) == before


def test_its_place_among_the_winners_is_that_of_its_rank(out: Path) -> None:
    """A sentence of the corpus is left out of it, so that it comes just before its own row among the winners."""
    pages, texts = Browser(str(out), 50, 10).pages, OwnTexts(str(out))
    sentences = {row["sent_id"]: row["text"] for row in pq.read_table(out / "corpus").to_pylist()}
    winners = pq.read_table(out / "topk").to_pylist()
    for row in [row for row in winners if row["layer"] == 2 and row["unit"] == 7 and row["rank"] in (1, 4, 15)]:
        page = texts.answer(pages, sentences[row["sent_id"]], "2-7")
        assert page is not None
        section = re.findall(rf'id="{row["pole"]}" class="pole".*?</section>', str(page.body), re.DOTALL)[0]
        items = re.findall(r'<li (?:class="own"|value="(\d+)")', section)
        assert items[row["rank"] - 1 : row["rank"] + 1] == ["", str(row["rank"])]
        assert f"would be winner {row['rank']} of 40" in section


def test_wrong_texts_are_told_why(port: int) -> None:
    assert ask(port, own(" "))[0] == 303
    assert ask(port, "/respond")[0] == 303
    status, page = ask(port, own("\U000131f0"))
    assert (status, "knows none of it" in page) == (400, True)
    assert ask(port, f"/neurons/9-9.html?{urlencode({'text': TEXT})}")[0] == 404
    assert ask(port, own(TEXT), host="elsewhere.example")[0] == 421
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(f"GET {own(TEXT)} HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n".encode())
        line.sendall(b"Connection: close\r\n\r\n")
        assert b" 403 " in line.recv(1 << 16).split(b"\r\n")[0]


def test_a_long_text_is_cut_and_says_so(port: int) -> None:
    status, page = ask(port, own("\u00e9t\u00e9 " * 1_500))
    assert status == 200
    assert "It is cut after 2,000 characters." in page
    assert "the model reads at most 40 tokens" in page


def test_a_second_reader_waits_and_a_third_is_told_to_try_again(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()
    answer = Responder.answer

    def slow(self: Responder, text: str) -> dict[str, Any]:
        begun.set()
        assert go.wait(60)
        return answer(self, text)

    monkeypatch.setattr(Responder, "answer", slow)
    pages, texts = Browser(str(out), 5, 10).pages, OwnTexts(str(out))
    with ThreadPoolExecutor(2) as readers:
        first = readers.submit(texts.answer, pages, TEXT)
        assert begun.wait(60)
        second = readers.submit(texts.answer, pages, "The kettle sang all night.")
        while texts._thread._work_queue.empty():
            assert not second.done()
        third = texts.answer(pages, "One more.")
        assert third is not None
        assert (third.status, "try again" in str(third.body)) == (503, True)
        go.set()
        assert [page.result(60).status for page in (first, second)] == [200, 200]  # type: ignore[union-attr]
        assert "kettle" in str(second.result().body)  # type: ignore[union-attr]
    again = texts.answer(pages, TEXT)
    assert again is not None
    assert again.status == 200


def test_the_model_is_loaded_once_and_what_is_explained_anew_is_read_anew(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    class Counted(Responder):
        def __init__(self, run: RunReader) -> None:
            made.append(run.store.uri)
            super().__init__(run)

    monkeypatch.setattr(own_texts, "Responder", Counted)
    texts = OwnTexts(str(out))
    for pages in (Browser(str(out), 5, 10).pages, Browser(str(out), 5, 10).pages):
        assert [texts.answer(pages, text).status for text in (TEXT, MARKUP)] == [200, 200]  # type: ignore[union-attr]
        assert texts._responder is not None
        assert texts._responder.corpus.tables is pages.facts.tables
    assert len(made) == 1


def test_a_model_that_is_gone_is_one_line_and_the_pages_stay(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise InputError("--model m: there is no such directory")

    monkeypatch.setattr("jobs.respond.steps.model_of_topk", gone)
    browser = Browser(str(out), 5, 10)
    page = OwnTexts(str(out)).answer(browser.pages, TEXT)
    assert page is not None
    assert (page.status, "there is no such directory" in str(page.body)) == (400, True)
    assert browser.pages.neuron("1-0") is not None


@pytest.mark.slow
def test_a_killed_server_loses_nothing(out: Path) -> None:
    before = files(out)
    served, number = serve(out)
    with served:
        line = socket.create_connection(("127.0.0.1", number), timeout=60)
        line.sendall(f"GET {own(TEXT)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        served.kill()
        line.close()
    assert files(out) == before
    served, number = serve(out)
    with served:
        assert ask(number, own(TEXT))[0] == 200
        served.kill()
    assert files(out) == before


@pytest.mark.slow
@NEEDS
@pytest.mark.parametrize(("width", "dark"), [(1300, False), (390, True)])
def test_a_reader_types_a_sentence_and_chooses_a_neuron(port: int, tmp_path: Path, width: int, dark: bool) -> None:
    shaded = "[...document.querySelectorAll('.shown-text p')].filter(p => p.checkVisibility())"
    with Tab(tmp_path) as tab:
        tab.show(width, 850, dark=dark)
        tab.open(f"http://127.0.0.1:{port}/")
        tab.tell("document.getElementById('own-text').focus()")
        tab.type(TEXT)
        tab.press("Enter")
        tab.wait("location.pathname === '/respond' && document.readyState === 'complete'")
        assert tab.tell(f"{shaded}.map(p => p.querySelector('.text').textContent)") == [TEXT]
        assert tab.tell(f"{shaded}[0].querySelectorAll('[class^=p],[class^=n]').length") > 3
        assert tab.tell(f"{shaded}[0].querySelectorAll('.peak').length") >= 1
        tab.tell("document.querySelector('#u0').focus()")
        first = tab.tell(f"{shaded}[0].id")
        tab.tell("document.querySelector('#u1').click()")
        assert tab.tell(f"{shaded}.map(p => p.id)") == ["t1"] != [first]
        assert tab.tell("document.documentElement.scrollWidth") <= width
        tab.tell("document.querySelector('tbody a').click()")
        tab.wait("location.pathname.startsWith('/neurons/') && document.readyState === 'complete'")
        assert TEXT in tab.tell("document.querySelector('.winners .own .text').textContent")
        assert tab.tell("document.querySelector('.winners .own').querySelectorAll('[class^=p],[class^=n]').length") > 3
        assert tab.tell("document.getElementById('own-text').value") == TEXT
        assert tab.tell("document.documentElement.scrollWidth") <= width
        tab.open(f"http://127.0.0.1:{port}{own(MARKUP)}")
        assert tab.tell(f"{shaded}[0].querySelector('.text').textContent") == MARKUP
        assert tab.tell("document.querySelectorAll('main b, main script').length") == 0
        assert tab.said == []
