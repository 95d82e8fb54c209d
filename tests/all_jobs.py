"""The jobs, found as the command line finds them: no test lists them by hand."""

import importlib
from functools import cache
from pathlib import Path
from typing import Any

import jobs
from jobs.stage.main import Job


@cache
def find_jobs() -> dict[str, Job[Any]]:
    """Return every job of `atlas` that reads a command line, by its name."""
    here = Path(jobs.__path__[0])
    modules = {path.parent.name: f"jobs.{path.parent.name}.job" for path in here.glob("*/job.py")}
    modules |= {path.stem: f"jobs.{path.stem}" for path in here.glob("[!_]*.py")}
    found = {name: importlib.import_module(modules[name]) for name in sorted(modules)}
    return {name: module.JOB for name, module in found.items() if hasattr(module, "JOB")}
