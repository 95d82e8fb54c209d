"""The job `browse`: a real server on loopback that is asked by raw requests and by a real browser."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from bench.harness import run
from jobs.browse.job import JOB, BrowseConfig
from jobs.browse.server import Browser
from jobs.run_folder.run import Run, RunReader
from ops.errors import InputError
from tests.conftest import ROOT
from tests.unit.report.browser import NEEDS, browse
from tests.unit.report.valid_html import check_html

SECRET = "that-lies-outside-of-the-run"


@pytest.fixture(scope="module")
def out(small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browse")
    (folder / "secret.txt").write_text(SECRET)
    shutil.copytree(small_run[0], folder / "run")
    (folder / "run" / "notes.txt").write_text(SECRET)
    return folder / "run"


@pytest.fixture(scope="module")
def port(out: Path) -> Iterator[int]:
    command = [sys.executable, "-m", "jobs.browse", "--out", str(out), "--port", "0", "--winners", "30"]
    command += ["--allow-host", "Atlas.example.org", "--allow-host", "other.example.org"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        said = served.stdout.readline()
        address = re.match(r"http://127\.0\.0\.1:(\d+)/ serves", said)
        assert address is not None, said
        yield int(address[1])
        served.send_signal(signal.SIGINT)
        assert served.wait(20) == 0
        assert served.stdout.read() == "ended\n"


def ask(port: int, path: str | bytes, method: str = "GET", host: str = "localhost") -> tuple[int, str]:
    """Send a request unchanged, byte by byte, and return the status and the body."""
    raw = path if isinstance(path, bytes) else path.encode()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(method.encode() + b" " + raw + f" HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(1 << 16), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body.decode(errors="replace")


def test_every_page_is_there_whole_and_small(port: int, out: Path) -> None:
    pages = ["/", "/index.html", "/search", "/search?q=the", "/search?q=text:+the", "/search?score=0"]
    pages += [f"/neurons/{layer}-{unit}.html" for layer, unit in ((1, 0), (1, 5), (2, 11))]
    for path in pages:
        status, text = ask(port, path)
        assert status == 200, path
        assert len(text.encode()) < 1_000_000
        check_html(text)
        for link in re.findall(r'href="((?:\.\./)?neurons/[^"#]*)', text)[:2]:
            assert ask(port, "/" + link.removeprefix("../"))[0] == 200
    drawn = json.loads(re.findall(r'id="map-data">(.*?)</script>', ask(port, "/")[1], re.DOTALL)[0])
    assert drawn["every"]
    assert drawn["widths"] == [12, 12]
    for name in ("atlas.css", "atlas.js"):
        assert ask(port, f"/{name}")[0] == 200


def test_what_is_not_there_is_no_error_of_ours(port: int) -> None:
    absent = ("neurons/0-0.html", "neurons/3-0.html", "neurons/1-12.html", "neurons/01-1.html", "side/psi.html")
    others = ("run.json", "topk/part-00000.parquet", "notes.txt", "../secret.txt", "%2e%2e/secret.txt")
    odd = ("%00", "%ff", "%zz", "neurons/%F0%9F%98%80", "neurons/1-99999999.html", "'%20or%20'1'='1", "a" * 9_000)
    wrong = ("q=nothing:+a", "q=a&layer=x", "q=a&layer=1e9", "q=a&score=nan", "q=lift:x")
    quoted = "union%20select%20*%20from%20read_text('/etc/passwd')%20--"
    asked = [
        *((f"/{path}", "GET", "localhost", 404) for path in (*absent, *others, *odd)),
        *((f"/search?{query}", "GET", "localhost", 400) for query in wrong),
        *((f"/search?q={kind}'{quoted}", "GET", "localhost", 200) for kind in ("text:", "word:", "")),
        ("/search?q=2:7", "GET", "localhost", 303),
        *(("/", method, "localhost", 405) for method in ("POST", "DELETE")),
        *(("/", "GET", host, 200) for host in ("127.0.0.1:80", "[::1]:80")),
        *(("/", "GET", host, 200) for host in ("atlas.example.org", "OTHER.example.org:8080")),
        *(("/", "GET", host, 421) for host in ("elsewhere.example", "[::1].evil.example")),
        *(("/", "GET", host, 421) for host in ("localhost:evil.example", "localhost:80:evil.example")),
    ]
    for path, method, host, status in asked:
        found, text = ask(port, path, method, host)
        assert found == status, (path, method, host)
        assert SECRET not in text
        assert "root:" not in text
    assert ask(port, b"/\xff\x80\x21")[0] == 400


def test_a_request_to_another_host_name_is_told_how_to_allow_it(port: int, out: Path) -> None:
    assert "--allow-host lab.example.org." in ask(port, "/", host="lab.example.org:8443")[1]
    with pytest.raises(InputError, match="is not a host name"):
        JOB.run(BrowseConfig(out=str(out), allow_host=("https://lab.example.org",)))


@pytest.mark.slow
@NEEDS
def test_a_browser_shows_overview_neuron_and_search_without_a_word_on_the_console(port: int, tmp_path: Path) -> None:
    for path in ("index.html", "neurons/1-1.html", "search?q=text:+the"):
        shown, said, asked = browse(f"http://127.0.0.1:{port}/{path}", tmp_path)
        assert said == [], path
        assert "<h1>" in shown
        assert all(url.startswith(f"http://127.0.0.1:{port}/") for url in asked), asked


def test_a_run_that_is_made_anew_is_served_as_it_is(out: Path, tmp_path: Path) -> None:
    shutil.copytree(out, tmp_path / "run")
    opened = Browser(str(tmp_path / "run"), 5, 10)
    assert not opened.is_stale()
    anew = Run(str(tmp_path / "run"))
    anew.begin("mine", {"another": "mine"}, {"no_scores": True}, redo=True)
    anew.finish("mine", {}, 0.0)
    anew.release()
    assert opened.is_stale()


def test_a_search_of_a_table_that_is_gone_is_told_to_come_again(out: Path, tmp_path: Path) -> None:
    shutil.copytree(out, tmp_path / "run")
    opened = Browser(str(tmp_path / "run"), 5, 10)
    shutil.rmtree(tmp_path / "run" / "patterns")
    scope = {"type": "http", "path_params": {"path": "search"}, "query_string": b"q=the", "headers": []}
    page = opened.guarded(Request(scope))
    assert (page.status, "Cannot be read now" in str(page.body)) == (503, True)


def test_a_run_that_changes_while_it_is_opened_is_opened_again(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that were finished in between would otherwise stay unseen until the next job."""
    shutil.copytree(out, tmp_path / "run")
    read = RunReader.__init__

    def read_and_finish(self: RunReader, *given: Any, **options: Any) -> None:
        read(self, *given, **options)
        record = tmp_path / "run" / "run.json"
        record.write_text(record.read_text() + "\n")

    with monkeypatch.context() as patch:
        patch.setattr(RunReader, "__init__", read_and_finish)
        opened = Browser(str(tmp_path / "run"), 5, 10)
    assert opened.is_stale()
    assert not Browser(str(tmp_path / "run"), 5, 10).is_stale()


def test_wrong_calls_are_one_line(out: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no run here"):
        JOB.run(BrowseConfig(out=str(tmp_path / "none"), port=0))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"--port {number}: cannot listen there"):
            JOB.run(BrowseConfig(out=str(out), port=number))


@pytest.mark.parametrize(("host", "is_local"), [("127.1", True), ("0.0.0.0", False)])
def test_a_short_form_of_this_machine_s_address_is_its_own(
    out: Path, host: str, is_local: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("jobs.browse.server.make_server", lambda respond: SimpleNamespace(run=hold))
    found: list[socket.socket] = []

    def hold(sockets: list[socket.socket]) -> None:
        found.extend(sockets)

    JOB.run(BrowseConfig(out=str(out), host=host, port=0))
    found[0].close()
    assert ("anyone who can reach this address" not in capsys.readouterr().out) == is_local


def test_nothing_in_the_run_was_touched(port: int, out: Path, small_run: tuple[Path, Path]) -> None:
    def listed(folder: Path) -> dict[str, int]:
        return {str(p.relative_to(folder)): os.stat(p).st_size for p in sorted(folder.rglob("*")) if p.is_file()}

    assert listed(out) == {**listed(small_run[0]), "notes.txt": len(SECRET)}


def test_the_benchmark_renders_whole_pages(small_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    run("browse", ["--out", str(small_run[0]), "--pages", "4"])
    found = json.loads(capsys.readouterr().out)
    assert found["pages_whole"] == found["pages"] == 4
    assert found["bench"] == "browse"
