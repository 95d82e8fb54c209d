"""The pages of a run that are rendered on request, including the page of every neuron and of every search."""

import mimetypes
import re
from threading import BoundedSemaphore, Lock
from typing import Any, NamedTuple

from ops.errors import InputError
from ops.facts.query import AUDITED, FIELDS, parse_form
from ops.facts.run_facts import RunFacts
from ops.facts.search import Searcher, found_listing
from ops.report.site import Site
from ops.schema.verdicts import VERDICTS

BEST = 50  # number of neurons that the overview lists
PAGES_AT_ONCE = 2  # number of pages that are rendered at the same time; rendering a page takes about 100 MB
_NEURON = re.compile(r"(0|[1-9][0-9]{0,3})-(0|[1-9][0-9]{0,7})")
_NAMED = re.compile(r"([0-9]{1,4}):([0-9]{1,8})")


class Page(NamedTuple):
    """A response: a text or bytes, its content type, its HTTP status, and the page to which it redirects, if any."""

    body: str | bytes
    kind: str = "text/html"
    status: int = 200
    instead: str = ""


class Pages:
    """The pages of a run, rendered from its current tables; searches take some `seconds` at most.

    The other arguments are those of `Site`.
    """

    def __init__(self, facts: RunFacts, run: dict[str, Any], winners: int, seconds: float) -> None:
        self.facts = facts
        self.site = Site(facts, run, written=run["stages"]["mine"]["finished"], winners=winners, served=True)
        self.searcher = Searcher.of(facts, seconds)
        self._room, self._lock = BoundedSemaphore(PAGES_AT_ONCE), Lock()
        self._overview = ""

    def overview(self) -> Page:
        """Return the overview, which is rendered only once."""
        with self._lock:
            if not self._overview:
                self._overview = self.site.overview(BEST, self.site.choose(BEST, ()))
            return Page(self._overview)

    def pair(self, name: str) -> tuple[int, int] | None:
        """Return the layer and unit of neuron `LAYER-UNIT`, or None if no neuron has that name."""
        found = _NEURON.fullmatch(name)
        if not (found and self.facts.has(int(found[1]), int(found[2]))):
            return None
        return int(found[1]), int(found[2])

    def neuron(self, name: str, own: dict[str, Any] | None = None) -> Page | None:
        """Return the page of neuron `LAYER-UNIT`, or None if no neuron has that name.

        `own` is a text of the reader's own, to be shown among the winners (see `with_own_winner`).
        """
        pair = self.pair(name)
        if pair is None:
            return None
        layer, unit = pair
        around = [(layer, other) for other in (unit - 1, unit + 1) if self.facts.has(layer, other)]
        with self._room:
            (page,) = self.site.neuron_pages([pair], around, own)
        return Page(page)

    def own_text(self, facts: dict[str, Any], said: list[str], legend: str, winners: int) -> Page:
        """Return the page about a text of the reader's own: its facts (see `with_own_text`), and sentences about it.

        The legend says what the columns of its list mean, and `winners` is the number of winners of a pole.
        """
        context = {"own": facts, "said": said, "legend": legend, "k": winners}
        return Page(self.site.render("own_text.html", context, ""))

    def side(self, job: str) -> Page | None:
        """Return the page of a side job, or None if it has not run."""
        if job not in self.site.side_jobs:
            return None
        with self._room:
            return Page(self.site.side(job))

    def search(self, given: dict[str, str]) -> Page:
        """Return the page of a search; its status is 400 if the query is not valid or could not be answered."""
        named = _NAMED.fullmatch(given.get("q", "").strip())
        if named and self.facts.has(int(named[1]), int(named[2])):
            return Page("", status=303, instead=f"neurons/{int(named[1])}-{int(named[2])}.html")
        rows, listing, wrong = [], None, ""
        try:
            query = parse_form(given)
            if query is not None:
                rows = self.searcher.find(query)
                listing = found_listing(query, rows, self.facts.names.title)
        except InputError as error:
            wrong = str(error)
        known = {"explanations": VERDICTS, "audit/neurons": AUDITED}
        verdicts = [name for table, names in known.items() if table in self.facts.table_names for name in names]
        context: dict[str, Any] = {
            "given": {field: given.get(field, "") for field in ("q", *FIELDS)}, "rows": rows, "listing": listing,
            "wrong": wrong, "verdicts": verdicts, "scored": bool(self.facts.scores.num_rows),
        }  # fmt: skip
        return Page(self.site.render("search.html", context, ""), status=400 if wrong else 200)

    def message(self, status: int, title: str, said: str) -> Page:
        """Return a page that says why the requested page is not shown."""
        return Page(self.site.render("message.html", {"title": title, "said": said}, "/"), status=status)

    def file(self, name: str) -> Page | None:
        """Return the style sheet, the script, or a figure that run.json names; None for any other path."""
        if name not in self.site.files:
            return None
        return Page(self.site.file(name), mimetypes.guess_type(name)[0] or "application/octet-stream")
