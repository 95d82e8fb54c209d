"""The pages of a run that are rendered on request, including the page of every neuron and of every search."""

import mimetypes
import re
from threading import BoundedSemaphore, Lock
from typing import Any, NamedTuple

from ops.errors import InputError
from ops.report.figure_copies import copy_name
from ops.report.overview import most_worth
from ops.report.pages import ASSETS, FOLDER, render
from ops.report.search import KINDS, MOST, MOST_SENTENCES, Query, Searcher, parse_query
from ops.report.side_pages import figure_files, side_context, side_jobs
from ops.report.site import Site
from ops.schema import meta_keys
from ops.storage.store import Store

BEST = 50  # number of neurons that the overview lists
PAGES_AT_ONCE = 2  # number of pages that are rendered at the same time; rendering a page takes about 100 MB
SEARCHED = ("topk", "sentences", "patterns", "profiles")
_NEURON = re.compile(r"(0|[1-9]\d{0,3})-(\d{1,8})")
_NAMED = re.compile(r"([0-9]{1,4}):([0-9]{1,8})")


class Page(NamedTuple):
    """A response: a text or bytes, its content type, and the page to which to redirect, if any."""

    body: str | bytes
    kind: str = "text/html"
    instead: str = ""


class Pages:
    """The pages of a run, rendered from its current tables.

    Args:
        store: the run's folder.
        run: the content of run.json; the stages ingest, topk, annotate and mine must be complete.
        winners: number of winners that a neuron's page lists for each pole.
        seconds: maximum duration of a search.
    """

    def __init__(self, store: Store, run: dict[str, Any], winners: int, seconds: float) -> None:
        self.store, self.run, self.winners, self.seconds = store, run, winners, seconds
        self.site = Site(store, run)
        self.searcher = self._searcher()
        self.figures = {f"figures/{copy_name(name)}": name for names in figure_files(run).values() for name in names}
        self.properties = ["dataset", *meta_keys(self.site.tables.dataset("sentences").schema)]
        self.shared = {
            "model": self.site.model(),
            "names": self.site.names,
            "written": run["stages"]["mine"]["finished"],
            "fingerprint": run["stages"]["topk"]["fingerprint"],
            "served": True,
        }
        self._room, self._lock = BoundedSemaphore(PAGES_AT_ONCE), Lock()
        self._overview = ""

    def _searcher(self) -> Searcher:
        names = [*SEARCHED, *(["peaks"] if self.site.has_tokens else [])]
        names += ["explanations", "explanation_terms"] if self.site.has_explanations else []
        names += [] if self.site.options["no_scores"] else ["scores"]
        tables = {name: self.site.tables.dataset(name) for name in names}
        if self.site.has_audit:
            tables["audited"] = self.site.tables.dataset("audit/neurons")
        return Searcher(tables, self.seconds, self.site.silent)

    def overview(self) -> Page:
        """Return the overview, which is rendered only once."""
        with self._lock:
            if not self._overview:
                worth = most_worth(self.site.scores.to_pylist(), BEST)
                chosen = self.site.choose(worth, BEST, ())
                context = self.site.overview(worth, chosen)
                context["map"] |= {"every": True, "pages": []}
                self._overview = render("overview.html", {**self.shared, **context, "all_pages": True, "root": ""})
            return Page(self._overview)

    def neuron(self, name: str) -> Page | None:
        """Return the page of neuron `LAYER-UNIT`, or None if no neuron has that name."""
        found = _NEURON.fullmatch(name)
        if found is None:
            return None
        layer, unit = int(found[1]), int(found[2])
        if not self.site.has(layer, unit) or name != f"{layer}-{unit}":
            return None
        width = self.site.units.width(layer)
        with self._room:
            (context,) = self.site.neurons([(layer, unit)], self.winners)
            around = {
                "before": (layer, unit - 1) if unit else None,
                "after": (layer, unit + 1) if unit + 1 < width else None,
            }
            shared = {**self.shared, "pages": (), "root": "../", "neighbours": around}
            return Page(render("neuron.html", {**shared, **context}))

    def side(self, job: str) -> Page | None:
        """Return the page of a side job, or None if it has not run."""
        if job not in side_jobs(self.run):
            return None
        with self._room:
            context = side_context(self.store, self.run, job)
            return Page(render("side.html", {**self.shared, **context, "root": "../"}))

    def search(self, given: dict[str, str]) -> tuple[Page, bool]:
        """Return the page of a search, and whether the query was valid and could be answered."""
        named = _NAMED.fullmatch(given.get("q", "").strip())
        if named and self.site.has(int(named[1]), int(named[2])):
            return Page("", instead=f"neurons/{int(named[1])}-{int(named[2])}.html"), True
        asked, rows, wrong = Query(), None, ""
        try:
            query = parse_query(given)
            if query is not None:
                asked = query
                rows = self.searcher.find(query)
        except InputError as error:
            wrong = str(error)
        context: dict[str, Any] = {
            "asked": asked, "rows": rows, "wrong": wrong, "kinds": KINDS, "properties": self.properties,
            "scored": bool(self.site.scores.num_rows), "most": MOST, "most_sentences": f"{MOST_SENTENCES:,}",
            "root": "",
        }  # fmt: skip
        return Page(render("search.html", {**self.shared, **context})), not wrong

    def message(self, title: str, said: str) -> Page:
        """Return a page that says why the requested page does not exist."""
        return Page(render("message.html", {**self.shared, "title": title, "said": said, "root": "/"}))

    def file(self, name: str) -> Page | None:
        """Return the style sheet, the script, or a figure that run.json names; None for any other path."""
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if name in ASSETS:
            return Page((FOLDER / name).read_bytes(), kind)
        if name in self.figures:
            return Page(self.site.figure(self.figures[name]), kind)
        return None
