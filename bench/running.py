"""Runs jobs from a benchmark as a user does, and reads their recorded results."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


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
