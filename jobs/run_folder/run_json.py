"""`run.json` on disk: how it is read, the structure that every job relies on, and the versions it records."""

import importlib.metadata
import os
import platform
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from jobs.run_folder.stages import STAGES
from ops.errors import InputError, one_line
from ops.schema import SCHEMA_VERSION, TOOL
from ops.storage.lock import LOCK
from ops.storage.store import Store

RECORD = "run.json"
LIBRARIES = ("ray", "torch", "transformers", "tokenizers", "datasets", "pyarrow", "numpy", "spacy", "prefixspan")


def read_record(store: Store, create: bool) -> dict[str, Any] | None:
    """Return the contents of run.json, or None if the folder is new or empty; nothing is changed.

    Args:
        create: whether the folder may be new, without a run.

    Raises:
        InputError: the folder is not the folder of a run, or this version cannot read the run.
    """
    out = store.uri
    try:
        if store.local and os.path.islink(store.root) and not os.path.exists(store.root):
            raise InputError(f"--out {out}: is a broken link; name another directory")
        if store.is_file(""):
            raise InputError(f"--out {out}: is a file; name a directory")
        known = store.exists(RECORD)
        if known and not store.is_file(RECORD):
            raise InputError(f"--out {out}: {RECORD} in it is a folder instead of a file; name another directory")
        record = store.read_json(RECORD) if known else None
    except (OSError, pa.ArrowException) as error:
        why = f"({one_line(error)}); check the address and what you may read"
        raise InputError(f"--out {out}: cannot be read {why}") from error
    if not known:
        _check_new(store, create)
        return None
    if not isinstance(record, dict) or record.get("tool") != TOOL:
        raise InputError(f"--out {out}: its {RECORD} was not written by Neuron Atlas; name another directory")
    version = str(record.get("schema_version"))
    if version != SCHEMA_VERSION:
        raise InputError(
            f"--out {out}: its tables are of schema {version}, made by another version of Neuron Atlas; "
            f"this one reads and writes schema {SCHEMA_VERSION}: name another --out, and run again"
        )
    if damaged := damage(record):
        raise InputError(f"--out {out}: its {RECORD} is damaged (at {damaged}); name another directory")
    return record


def _check_new(store: Store, create: bool) -> None:
    out = store.uri
    if not create:
        raise InputError(f"--out {out}: there is no run here (no {RECORD}); make one with atlas run --out {out}")
    try:
        # A job that is killed before it writes its first record leaves its lock.
        foreign = [e for e in store.entries() if not e.startswith(".") and e != LOCK]
    except NotADirectoryError as error:
        raise InputError(f"--out {out}: is a file; name a directory") from error
    if foreign:
        raise InputError(
            f"--out {out}: holds other files ({', '.join(foreign[:3])}) and no {RECORD}; name a new or empty directory"
        )


def check_out(out: str) -> None:
    """Refuse a relative run directory in a submitted job, whose working directory is deleted when it ends."""
    if not out:
        raise InputError("--out is missing: name the run directory, a path or a URI such as s3://bucket/run")
    if "://" not in out and not os.path.isabs(out) and os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR"):
        raise InputError(
            f"--out {out}: is relative, and a submitted job's working directory is deleted; give a full path or URI"
        )


def _below_the_run(name: str) -> str:
    """Refuse a name that leaves the folders of tables, because files are opened and removed by these names."""
    words = name.split("/")
    if len(words) < 2 or not all(words) or {".", ".."} & {*words}:
        raise ValueError("is not a file of a table")
    return name


def _is_stage(name: str) -> str:
    if name not in STAGES:
        raise ValueError("is not a stage")
    return name


Name = Annotated[str, AfterValidator(_below_the_run)]


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _File(_Shape):
    name: Name
    rows: int | None
    bytes: int
    fingerprint: str


class _Stage(_Shape):
    complete: bool
    seconds: float
    fingerprint: str
    identity: dict[str, Any]
    config: dict[str, Any]
    counts: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    redo: "_Stage | None" = None

    @model_validator(mode="after")
    def _counted(self) -> "_Stage":
        if self.complete and self.counts is None:
            raise ValueError("is complete without counts")
        return self


class _Publishing(_Shape):
    stage: Annotated[str, AfterValidator(_is_stage)]
    remove: list[Name]
    keep_partials: bool = False


class _Record(_Shape):
    stages: dict[Annotated[str, AfterValidator(_is_stage)], _Stage]
    tables: dict[str, list[_File]]
    publishing: _Publishing | None = None
    dropped: dict[str, dict[str, Any]] = {}


def damage(record: dict[str, Any]) -> str:
    """Return the place where a record has the wrong structure; an empty string if it is sound."""
    try:
        _Record.model_validate(record)
    except ValidationError as error:
        return ".".join(map(str, error.errors()[0]["loc"]))
    return ""


def how_far(progress: dict[str, Any]) -> str:
    """Return in words how far a stage is, with the advice to wait if a job is running."""
    text = f"{progress['step']}: {progress['done']:,} of {progress['of']:,} {progress['unit']}"
    last = progress["last_commit"]
    return text if last is None else f"{text}, the last at {last}; if a job is running, wait for it"


def versions() -> dict[str, str]:
    """Return the versions of this program, of Python and of the libraries that the results depend on."""
    # A checkout states it in pyproject.toml; what is installed may be of another version.
    checkout = Path(__file__).parents[2] / "pyproject.toml"
    own = tomllib.loads(checkout.read_text("utf-8"))["project"]["version"] if checkout.is_file() else None
    found = {name: importlib.metadata.version(name) for name in LIBRARIES}
    found[TOOL] = str(own or importlib.metadata.version(TOOL))
    return {"python": platform.python_version(), "platform": sys.platform, "machine": platform.machine(), **found}
