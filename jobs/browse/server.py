"""The server of `browse`, which answers a few paths, each with a page, and only reads the run."""

import re
import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa
import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from jobs.browse.job import BrowseConfig
from jobs.browse.own_texts import OwnTexts
from jobs.run_folder.run import RunReader
from jobs.run_folder.run_json import RECORD, check_out
from jobs.stage.shown import read_facts
from ops.errors import InputError, one_line
from ops.report.served_pages import Page, Pages
from ops.storage.store import Store

# Pages may load only the server's own style and script; the only inline style is the width of a bar.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]+))(?::[0-9]+)?")
THREADS = 4  # most pages that are made at a time


class Browser:
    """Answers requests from the tables that run.json names, and reopens them when they are rebuilt.

    The arguments are the options of the same names.

    Attributes:
        pages: the pages of the run as it was last opened.
        names: the host names that requests may use for this machine; empty for any name.
    """

    def __init__(self, out: str, winners: int, seconds: float) -> None:
        check_out(out)
        self._out, self._winners, self._seconds, self._folder = out, winners, seconds, Store(out)
        self.names: frozenset[str] = frozenset()
        self._lock = Lock()
        self._threads: CapacityLimiter | None = None
        self._own_texts = OwnTexts(out)
        self._open()

    def _open(self) -> None:
        # A job that finishes while the run is opened makes it stale.
        written = self._last_written()
        reader = RunReader(self._out, create=False)
        facts = read_facts(reader)
        reader.require("ingest")
        self.pages = Pages(facts, reader.record, self._winners, self._seconds)
        self._written = written

    def is_stale(self) -> bool:
        """Tell whether the run was changed since it was opened."""
        return bool(self._last_written() != self._written)

    def _last_written(self) -> Any:
        info = self._folder.filesystem.get_file_info(self._folder.path(RECORD))
        return info.mtime_ns, info.size

    def current(self) -> Pages:
        """Return the current pages of the run."""
        with self._lock:
            if self.is_stale():
                self._open()
            return self.pages

    def answer(self, request: Request) -> Page | None:
        """Return the page for a request; None if it does not exist."""
        path = request.path_params["path"]
        host = host_name(request.headers.get("host", ""))
        if self.names and host not in self.names:
            message = "This server answers only to this machine's own names and those of --allow-host."
            if host:
                message += f" To reach it as {host}, for example through a proxy, start it with --allow-host {host}."
            return self.pages.message(421, "Not this name", message)
        pages = self.current()
        folder, _, name = path.rpartition("/")
        text = request.query_params.get("text", "").strip()
        if text and request.headers.get("sec-fetch-site") == "cross-site":
            return pages.message(403, "Not from there", "Another site asked for this; type the text here.")
        if path == "respond":
            return self._own_texts.answer(pages, text) if text else Page("", status=303, instead="index.html#own-text")
        if path in ("", "index.html"):
            return pages.overview()
        if path == "search":
            return pages.search(dict(request.query_params))
        if folder == "neurons" and name.endswith(".html"):
            name = name.removesuffix(".html")
            return self._own_texts.answer(pages, text, name) if text else pages.neuron(name)
        if folder == "side" and name.endswith(".html"):
            return pages.side(name.removesuffix(".html"))
        return pages.file(path)

    def guarded(self, request: Request) -> Page:
        """Return the result of `answer`, or a page with the reason why there is none."""
        missing = "There is no such page. The page of a neuron is neurons/LAYER-UNIT.html."
        try:
            return self.answer(request) or self.pages.message(404, "Not found", missing)
        except (InputError, OSError, pa.ArrowException, duckdb.Error) as error:
            return self.pages.message(503, "Cannot be read now", one_line(error))

    async def respond(self, request: Request) -> Response:
        """Answer one request; pages are made in a few threads."""
        self._threads = self._threads or CapacityLimiter(THREADS)
        page = await to_thread.run_sync(self.guarded, request, limiter=self._threads)
        headers = HEADERS | ({"Location": page.instead} if page.instead else {})
        return Response(page.body, page.status, headers, page.kind)


def host_name(header: str) -> str:
    """Return the name in a Host header, without its port; an empty text if the header has another form."""
    found = _HOST.fullmatch(header.lower())
    return (found[1] or found[2]) if found else ""


def make_server(respond: Callable[[Request], Awaitable[Response]]) -> uvicorn.Server:
    """Return a web server that answers requests on every path, and allows only reading (GET and HEAD)."""
    app = Starlette(routes=[Route("/{path:path}", respond, methods=["GET"])])
    options: dict[str, Any] = {"log_level": "error", "access_log": False, "server_header": False}
    # A text is part of the address, in which a letter may take nine bytes.
    options["h11_max_incomplete_event_size"] = 1 << 16
    return uvicorn.Server(uvicorn.Config(app, http="h11", proxy_headers=False, **options))


def browse(config: BrowseConfig) -> None:
    """Serve a run until the process is told to end."""
    host, port = config.host, config.port
    for name in config.allow_host:
        if not host_name(name):
            raise InputError(f"--allow-host {name}: is not a host name; give one such as atlas.example.org")
    browser = Browser(config.out, config.winners, config.seconds)
    browser.pages.neuron("1-0")  # opens the tables that the first page needs
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise InputError(f"--host {host} --port {port}: cannot listen there ({one_line(error)})") from error
    # A name or a short form such as 127.1 may mean this machine, so look at the address that it listens on.
    address = str(listening.getsockname()[0])
    local = ip_address(address).is_loopback
    if local:
        names = {"127.0.0.1", "localhost", "::1", host.lower(), address}
        browser.names = frozenset(names | set(map(host_name, config.allow_host)))
    at = f"[{host}]" if ":" in host else host
    print(f"http://{at}:{listening.getsockname()[1]}/ serves {config.out}; Ctrl-C ends it", flush=True)
    if not local:
        print("note: anyone who can reach this address can read the run, without a password", flush=True)
    try:
        make_server(browser.respond).run(sockets=[listening])
    except KeyboardInterrupt:
        print("ended", flush=True)
