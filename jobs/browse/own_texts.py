"""Scores the texts that readers type, one after another, in a thread that loads the model at the first one."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import BoundedSemaphore

from jobs.respond.steps import Responder
from jobs.run_folder.run import RunReader
from ops.errors import InputError
from ops.report.served_pages import Page, Pages
from ops.report.shading import with_own_text
from ops.respond.said import legend, said_of_text

MOST_CHARACTERS = 2_000
AT_ONCE = 2  # one text is scored and one waits; more are told to try again
BUSY = "Another text is being scored and one waits; try again in a moment."
TITLE = "Not scored"


class OwnTexts:
    """The pages with texts of readers."""

    def __init__(self, out: str) -> None:
        self._out = out
        self._thread, self._room = ThreadPoolExecutor(1), BoundedSemaphore(AT_ONCE)
        self._responder: Responder | None = None
        self._pages: Pages | None = None

    def answer(self, pages: Pages, text: str, neuron: str = "") -> Page | None:
        """Return the page about a text, or the page of the neuron `LAYER-UNIT` with the text among its sentences.

        None if there is no such neuron.
        """
        pair = pages.pair(neuron) if neuron else None
        if neuron and pair is None:
            return None
        if not self._room.acquire(blocking=False):
            return pages.message(503, TITLE, BUSY)
        try:
            return self._thread.submit(self._answer, pages, text, pair).result()
        except InputError as error:
            return pages.message(400, TITLE, str(error))
        finally:
            self._room.release()

    def _answer(self, pages: Pages, text: str, pair: tuple[int, int] | None) -> Page | None:
        responder = self._current(pages)
        notes = [] if len(text) <= MOST_CHARACTERS else [f"It is cut after {MOST_CHARACTERS:,} characters."]
        text = text[:MOST_CHARACTERS]
        if pair is not None:
            facts = responder.place(text, *pair, pages.facts.poles)
            return pages.neuron(f"{pair[0]}-{pair[1]}", facts | {"notes": notes + facts["notes"]})
        facts, names = responder.answer(text), responder.names
        said = [*notes, *said_of_text(facts, names)]
        return pages.own_text(with_own_text(facts), said, legend(facts, names), responder.corpus.winners)

    def _current(self, pages: Pages) -> Responder:
        """Return the model with what these pages know of the run; the model stays while `topk` is not run again."""
        if self._responder is None or self._responder.fingerprint != pages.facts.stages["topk"]["fingerprint"]:
            self._responder, self._pages = None, None
            self._responder = Responder(RunReader(self._out, create=False))
        if self._pages is not pages:
            tables, names = pages.facts.tables, pages.facts.table_names
            self._responder.corpus = replace(self._responder.corpus, tables=tables, names=names)
            self._pages = pages
        return self._responder
