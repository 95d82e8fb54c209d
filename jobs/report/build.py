"""Builds the site from the finished stages and writes its pages as the files of the stage `report`."""

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from jobs.report.job import ReportConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.stage.shown import read_facts
from ops.clock import utc_now
from ops.report.side_jobs import SIDE_JOBS
from ops.report.site import Site
from ops.storage.lock import HeldError
from ops.storage.store import Store
from ops.topk.neurons import NEURON, parse_pair

NEURONS = "report/neurons"


def report(config: ReportConfig) -> None:
    """Build the site in `report/` and print where it is."""
    began = time.monotonic()
    run = Run(config.out, create=False)
    try:
        named = [parse_pair("--neurons", which, NEURON) for which in config.neurons]
        facts = read_facts(run)
        run.require("ingest")
        run.check_files(*(name for name in STAGES if name.partition("/")[0] in SIDE_JOBS and run.complete(name)))
        site = Site(facts, run.record, written=utc_now(), winners=config.winners)
        chosen = site.choose(config.best, [facts.check("--neurons", neuron) for neuron in named])
        store = _begun(run, {"best": config.best, "neurons": list(config.neurons), "winners": config.winners})
        for name, page in site.pages(config.best, chosen):
            content = page.encode() if isinstance(page, str) else page
            store.commit(f"report/{name}", partial(_write, content))
        if run.lock is not None:
            run.finish("report", {"neurons": len(chosen)}, time.monotonic() - began)
    finally:
        run.release()
    index = run.store.path("report/index.html") if run.store.local else f"{config.out}/report/index.html"
    print(f"{index}: an overview and {len(chosen)} neurons; open it in a browser")


def _begun(run: Run, options: dict[str, Any]) -> Store:
    """Begin the stage, and return the folder in which its pages are written.

    While another job holds the run, its record cannot be changed; the pages are then put in place one by one.
    """
    try:
        run.begin("report", {}, options, redo=True)
    except HeldError:
        print(
            "note: another job holds this run: the report shows what is finished so far, and is not recorded in "
            "run.json",
            file=sys.stderr,
        )
        return run.store
    recorded = {file["name"] for file in run.record["tables"].get(NEURONS, [])}
    for name in run.store.walk(NEURONS):
        # The page is from a report that was built while another job held the run.
        if name not in recorded and name.endswith(".html"):
            run.store.delete(name)
    return run.store_of("report")


def _write(content: bytes, path: str) -> None:
    Path(path).write_bytes(content)
