"""Runs jobs from a benchmark as a user does, and reads their recorded results."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def job(name: str, out: Path, *flags: object) -> "subprocess.Popen[bytes]":
    """Start `python -m jobs.NAME --out OUT FLAGS` in the checkout, one thread for each process."""
    command = [sys.executable, "-m", f"jobs.{name}", "--out", str(out), *map(str, flags)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"})


def run_job(name: str, out: Path, *flags: object) -> dict[str, Any]:
    """Run a job to its end and return the counts of its stage in run.json.

    Raises:
        SystemExit: the job failed; the status is that of the job.
    """
    status = job(name, out, *flags).wait()
    if status:
        raise SystemExit(status)
    return counts_of(name, out)


def counts_of(name: str, out: Path) -> dict[str, Any]:
    """Return the counts of a finished stage."""
    counts: dict[str, Any] = json.loads((out / "run.json").read_text())["stages"][name]["counts"]
    return counts


def load() -> float:
    """Return the machine's load average over the last minute; measurements under high load are not reliable."""
    return round(os.getloadavg()[0], 1)


def resident() -> dict[str, int]:
    """Return this process's current and highest resident memory in bytes, under the names that /proc uses."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[0] in ("VmRSS:", "VmHWM:")}
