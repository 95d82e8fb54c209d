"""Runs jobs from a benchmark: as a user does, or step by step in this process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.resources import timed
from jobs.stage.step import Made, Step
from ops.storage.store import Store

ROOT = Path(__file__).parent.parent
PRINT = "f" * 64  # the fingerprint of every stage whose steps are done here


def job(name: str, out: Path | str, *flags: object, **options: Any) -> "subprocess.Popen[Any]":
    """Start `python -m jobs.NAME --out OUT FLAGS` in the checkout, one thread for each process."""
    command = [sys.executable, "-m", f"jobs.{name}", "--out", str(out), *map(str, flags)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, **options)


def run_job(name: str, out: Path, *flags: object) -> dict[str, Any]:
    """Run a job to its end and return the counts of its stage in run.json.

    Raises:
        SystemExit: the job failed; the status is that of the job.
    """
    status = job(name, out, *flags).wait()
    if status:
        raise SystemExit(status)
    counts: dict[str, Any] = stage_of(name, out)["counts"]
    return counts


def stage_of(name: str, out: Path) -> dict[str, Any]:
    """Return what run.json holds about a finished stage."""
    stage: dict[str, Any] = json.loads((out / "run.json").read_text())["stages"][name]
    return stage


def by_name(steps: Iterable[Step]) -> dict[str, Step]:
    """Return steps by their names, without the name of the stage."""
    return {step.name.split(": ")[-1]: step for step in steps}


def commit(store: Store, made: Made) -> None:
    """Commit the files that a worker made."""
    for output, contents in made.items():
        output.commit(store, contents, PRINT)


def seconds(step: Step, store: Store, items: int | None = None, warm: bool = False) -> float:
    """Do items of a step, and return the processor time, without that of creating the worker.

    Args:
        step, store: the step, and the run's folder.
        items: the number of items, from the first; None for all.
        warm: whether the first item is done once before, which compiles what it uses.
    """
    make, args = step.committing(store, PRINT)
    do, chosen = make(**args), step.items[:items]
    if warm:
        do(chosen[0], None)
    return timed(lambda: [do(item, None) for item in chosen])[0].processor
