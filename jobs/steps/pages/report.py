"""Building the site: the tables of a finished run are read, by chosen neurons, and become pages."""

import time
from pathlib import Path

from jobs.stage.run import Run
from jobs.stage.stages import STAGES
from jobs.steps.pages.report_side import side_context, side_jobs
from jobs.steps.pages.report_tables import Site
from jobs.steps.show.neuron import READ
from ops.clock import utc_now
from ops.report.overview import most_worth
from ops.report.pages import ASSETS, FOLDER, render
from ops.report.side_pages import SIDE_JOBS
from ops.storage.store import Store

STAGES_READ = ("topk", "annotate", "mine")
TOGETHER = 64  # neurons whose rows are read at once


def build(record: Run, best: int, named: tuple[str, ...], winners: int) -> int:
    """Build the site in `report/` and return for how many neurons there are pages.

    Args:
        record: the run.
        best: neurons that get a page for their score.
        named: others, as LAYER:UNIT.
        winners: listed of each pole.

    Raises:
        InputError: tables are missing, or there is no such neuron.
    """
    began = time.monotonic()
    for stage in STAGES_READ:
        record.require(stage)
    record.check_files(*STAGES_READ, only=READ)
    more = [name for name in STAGES if name.partition("/")[0] in ("tokens", *SIDE_JOBS) and record.complete(name)]
    record.check_files(*more)
    source = Site(record)
    worth = most_worth(source.scores.to_pylist(), best)
    chosen = source.choose(worth, best, named)
    options = {"best": best, "neurons": list(named), "winners": winners}
    if record.begin("report", {}, options, redo=True) is None:
        raise RuntimeError("report: is made anew each time")
    store = record.store_of("report")
    shared = {
        "model": record.record["model"],
        "written": utc_now(),
        "fingerprint": record.require("topk")["fingerprint"],
        "served": False,
    }
    overview = source.overview(worth, chosen)
    _write(store, "report/index.html", render("overview.html", {**shared, **overview, "root": ""}))
    for name in ASSETS:
        _write(store, f"report/{name}", Path(FOLDER / name).read_text(encoding="utf-8"))
    for first in range(0, len(chosen), TOGETHER):
        for place, page in enumerate(source.neurons(chosen[first : first + TOGETHER], winners), first):
            around = {
                "root": "../",
                "pages": chosen,
                "neighbours": {
                    "before": chosen[place - 1] if place else None,
                    "after": chosen[place + 1] if place + 1 < len(chosen) else None,
                },
            }
            text = render("neuron.html", {**shared, **page, **around})
            _write(store, f"report/neurons/{page['layer']}-{page['unit']}.html", text)
    for job in side_jobs(record):
        text = render("side.html", {**shared, **side_context(record, job), "root": "../"})
        _write(store, f"report/side/{job}.html", text)
    record.finish("report", {"neurons": len(chosen)}, time.monotonic() - began)
    return len(chosen)


def _write(store: Store, name: str, text: str) -> None:
    def write(path: str) -> None:
        Path(path).write_text(text, encoding="utf-8")

    store.commit(name, write)
