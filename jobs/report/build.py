"""Builds the site from the finished stages and writes its pages as the files of the stage `report`."""

import re
import sys
import time
from pathlib import Path
from typing import Any

from jobs.stage.run import Run
from jobs.stage.stages import STAGES
from ops.clock import utc_now
from ops.report.overview import most_worth
from ops.report.side_pages import SIDE_JOBS
from ops.report.site import Site
from ops.show.neuron_facts import TABLES_READ
from ops.storage.lock import HeldError
from ops.storage.store import Store

NEURONS = "report/neurons"
PAGE = re.compile(rf"{NEURONS}/\d+-\d+\.html")


def build(record: Run, best: int, named: tuple[str, ...], winners: int) -> int:
    """Build the site in `report/` and return the number of neurons with a page.

    Args:
        record: the run.
        best: the number of neurons that get a page because of their score.
        named: further neurons that get a page, as LAYER:UNIT.
        winners: the number of winners listed for each pole.

    Raises:
        InputError: tables are missing, or there is no such neuron.
    """
    began = time.monotonic()
    stages = STAGES["report"].reads
    for stage in (*stages, "ingest"):
        record.require(stage)
    record.check_files(*stages, only=TABLES_READ)
    more = [name for name in STAGES if name.partition("/")[0] in ("tokens", *SIDE_JOBS) and record.complete(name)]
    record.check_files(*more)
    site = Site(record.store, record.record)
    worth = most_worth(site.scores.to_pylist(), best)
    chosen = site.choose(worth, best, named)
    options = {"best": best, "neurons": list(named), "winners": winners}
    store = _begun(record, options)
    shared = {
        "model": site.model(),
        "names": site.names,
        "written": utc_now(),
        "fingerprint": record.require("topk")["fingerprint"],
        "served": False,
    }
    for name, held in site.pages(worth, chosen, winners, shared):
        _write(store, f"report/{name}", held)
    if record.lock is not None:
        record.finish("report", {"neurons": len(chosen)}, time.monotonic() - began)
    return len(chosen)


def _begun(record: Run, options: dict[str, Any]) -> Store:
    """Begin the stage, and return the folder in which its pages are written.

    While another job holds the run, its record cannot be changed; the pages are then put in place one by one.
    """
    try:
        if record.begin("report", {}, options, redo=True) is None:
            raise RuntimeError("report: is rebuilt each time")
    except HeldError:
        said = "another job holds this run: the report shows what is finished so far, and is not recorded in run.json"
        print(f"note: {said}", file=sys.stderr)
        return record.store
    listed = {file["name"] for file in record.record["tables"].get(NEURONS, [])}
    for name in record.store.walk(NEURONS):
        # The page is from a report that was built while another job held the run.
        if name not in listed and PAGE.fullmatch(name):
            record.store.delete(name)
    return record.store_of("report")


def _write(store: Store, name: str, held: str | bytes) -> None:
    def write(path: str) -> None:
        Path(path).write_bytes(held.encode() if isinstance(held, str) else held)

    store.commit(name, write)
