"""`run.json`: what was run with which options, on which inputs, and how far each stage has come."""

import importlib.metadata
import os
import platform
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa

from jobs.stage.layout import STAGES, stages_after, stages_read
from jobs.stage.under_way import how_far
from ops.errors import InputError, one_line
from ops.schema import SCHEMA_VERSION
from ops.storage.fingerprint import fingerprint
from ops.storage.store import Store

RECORD = "run.json"
TOOL = "neuron-atlas"
LIBRARIES = ("ray", "torch", "transformers", "tokenizers", "datasets", "pyarrow", "numpy", "spacy", "prefixspan")


class Run:
    """One run directory and its record; making one touches nothing.

    Raises:
        InputError: no directory was named, or it is not a run's.
    """

    def __init__(self, out: str, create: bool = True) -> None:
        if not out:
            raise InputError("--out is missing: name the run directory, a path or a URI such as s3://bucket/run")
        check_out(out)
        self.store = Store(out)
        try:
            known = self.store.exists(RECORD)
        except (OSError, pa.ArrowException) as error:
            why = f"({one_line(error)}); check the address and what you may read"
            raise InputError(f"--out {out}: cannot be looked into {why}") from error
        if known:
            self.record: dict[str, Any] = self.store.read_json(RECORD)
            if not isinstance(self.record, dict) or self.record.get("tool") != TOOL:
                raise InputError(f"--out {out}: its {RECORD} is not one of ours; name another directory")
            self._check_version(out)
        else:
            self._check_new(out, create)
            self.record = {"tool": TOOL, "schema_version": SCHEMA_VERSION, "stages": {}}

    def _check_version(self, out: str) -> None:
        found = str(self.record.get("schema_version"))
        if found != SCHEMA_VERSION:
            raise InputError(
                f"--out {out}: its tables are of schema {found}, made by another version of Neuron Atlas; "
                f"this one reads and writes schema {SCHEMA_VERSION}: name another --out, and run again"
            )

    def _check_new(self, out: str, create: bool) -> None:
        if not create:
            raise InputError(
                f"--out {out}: there is no run here (no {RECORD}); make one with python -m jobs.run --out {out}"
            )
        try:
            foreign = [e for e in self.store.entries() if not e.startswith((".", "_"))]
        except NotADirectoryError as error:
            raise InputError(f"--out {out}: is a file; name a directory") from error
        if foreign:
            raise InputError(
                f"--out {out}: holds other files ({', '.join(foreign[:3])}) and no {RECORD}; "
                "name a new or empty directory"
            )

    def stage(self, name: str) -> dict[str, Any] | None:
        """Return a stage's entry, or None where it was never begun."""
        entry: dict[str, Any] | None = self.record["stages"].get(name)
        return entry

    def complete(self, name: str) -> bool:
        """Tell whether all of a stage's tables are there."""
        entry = self.stage(name)
        return entry is not None and bool(entry["complete"])

    def require(self, name: str) -> dict[str, Any]:
        """Return the entry of a stage whose tables are to be read.

        Raises:
            InputError: it is not complete.
        """
        entry = self.stage(name)
        if entry is None or not entry["complete"]:
            what = f"{name} is not complete" if entry else f"{STAGES[name].tables[0]}/ is missing"
            how = "give --corpus, or " if name == "ingest" else ""
            job = name.partition("/")[0]
            progress = entry.get("progress") if entry else None
            far = f" ({how_far(progress)})" if progress else ""
            raise InputError(
                f"--out {self.store.uri}: {what}{far}; {how}run python -m jobs.{job} --out {self.store.uri} first"
            )
        return entry

    def begin(self, name: str, identity: dict[str, Any], config: dict[str, Any], redo: bool) -> str:
        """Start or go on with a stage and return its fingerprint.

        Args:
            name: the stage.
            identity: all that its results depend on, by option or input, the fingerprints of the stages it reads aside.
            config: the resolved options, for the record.
            redo: drop what is there of it and of the stages after it.

        Raises:
            InputError: the directory holds results of other options; every one that differs is named.
        """
        identity = {**identity, **{f"{s} stage": self.require(s)["fingerprint"] for s in stages_read(name)}}
        self.store.check_writable()
        if redo:
            self.drop(name)
        entry = self.stage(name)
        if entry is not None:
            self._check_same(name, entry["identity"], identity)
        else:
            entry = {"complete": False, "started": _now(), "seconds": 0.0}
        entry.update(fingerprint=fingerprint(identity), identity=identity, config=config)
        self.record["stages"][name] = entry
        self.record["versions"] = versions()
        self.save()
        return str(entry["fingerprint"])

    def _check_same(self, name: str, was: dict[str, Any], now: dict[str, Any]) -> None:
        keys = sorted(k for k in was.keys() | now.keys() if was.get(k) != now.get(k))
        if keys:
            changes = ", ".join(f"{k} (was {_short(was.get(k))}, is {_short(now.get(k))})" for k in keys)
            raise InputError(
                f"--out {self.store.uri}: {name} was run with other options: {changes}; "
                f"name another --out, or --redo to drop these results"
            )

    def note(self, name: str, progress: dict[str, Any]) -> None:
        """Record how far a stage under way is."""
        self.record["stages"][name]["progress"] = progress
        self.save()

    def done_before(self, name: str, found: str) -> None:
        """Say that a stage has nothing to do; `found` is what it did before."""
        print(f"{name}: done before, {found}", file=sys.stderr)

    def finish(self, name: str, counts: dict[str, Any], seconds: float) -> None:
        """Record that all of a stage's tables are in place."""
        entry = self.record["stages"][name]
        entry.pop("progress", None)
        entry.update(complete=True, finished=_now(), seconds=round(entry["seconds"] + seconds, 3), counts=counts)
        self.save()

    def drop(self, name: str) -> None:
        """Remove tables, partial files and entries of a stage and of every stage whose results follow from its own."""
        gone = [name, *stages_after(name)]
        entries = [self.record["stages"].pop(s, None) for s in gone]
        if any(entries):
            self.save()
        for stage in gone:
            for folder in (*STAGES[stage].tables, STAGES[stage].partials):
                self.store.delete(folder)

    def save(self) -> None:
        """Write the record."""
        self.store.write_json(RECORD, self.record)


def check_out(out: str) -> None:
    """Refuse a relative run directory in a submitted job, whose working directory goes away with it.

    Raises:
        InputError: `out` is relative and the process runs as a Ray job.
    """
    if "://" not in out and not os.path.isabs(out) and os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR"):
        raise InputError(
            f"--out {out}: is relative, and a submitted job's working directory goes away; give a full path or URI"
        )


def versions() -> dict[str, str]:
    """Return the versions of this program, of Python and of the libraries whose results these are."""
    # Installing it is not needed to run it from its checkout.
    own = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {TOOL: own["version"], **{name: importlib.metadata.version(name) for name in LIBRARIES}}
    return {"python": platform.python_version(), "platform": sys.platform, "machine": platform.machine(), **found}


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:40] + "..."


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
