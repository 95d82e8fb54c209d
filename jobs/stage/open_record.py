"""Reading `run.json`, and telling a run's folder from others."""

import os
from typing import Any

import pyarrow as pa

from jobs.stage.record_shape import damage
from jobs.stage.versions import TOOL
from ops.errors import InputError, one_line
from ops.schema import SCHEMA_VERSION
from ops.storage.lock import LOCK
from ops.storage.store import Store

RECORD = "run.json"


def read_record(store: Store, create: bool) -> dict[str, Any] | None:
    """Return what run.json says, None where there is none and the folder is new or empty; nothing is touched.

    Args:
        store: the run's folder.
        create: whether the folder may be no run yet.

    Raises:
        InputError: it is not a run's, or one that this version does not read.
    """
    out = store.uri
    try:
        if store.local and os.path.islink(store.root) and not os.path.exists(store.root):
            raise InputError(f"--out {out}: is a link that leads nowhere; name another directory")
        if store.is_file(""):
            raise InputError(f"--out {out}: is a file; name a directory")
        known = store.exists(RECORD)
        if known and not store.is_file(RECORD):
            raise InputError(f"--out {out}: its {RECORD} is a folder; name another directory")
        record = store.read_json(RECORD) if known else None
    except (OSError, pa.ArrowException) as error:
        why = f"({one_line(error)}); check the address and what you may read"
        raise InputError(f"--out {out}: cannot be looked into {why}") from error
    if not known:
        _check_new(store, create)
        return None
    if not isinstance(record, dict) or record.get("tool") != TOOL:
        raise InputError(f"--out {out}: its {RECORD} is not one of ours; name another directory")
    found = str(record.get("schema_version"))
    if found != SCHEMA_VERSION:
        raise InputError(
            f"--out {out}: its tables are of schema {found}, made by another version of Neuron Atlas; "
            f"this one reads and writes schema {SCHEMA_VERSION}: name another --out, and run again"
        )
    if place := damage(record):
        raise InputError(f"--out {out}: its {RECORD} is damaged (at {place}); name another directory")
    return record


def _check_new(store: Store, create: bool) -> None:
    out = store.uri
    if not create:
        raise InputError(
            f"--out {out}: there is no run here (no {RECORD}); make one with python -m jobs.run --out {out}"
        )
    try:
        # A job that is killed before its first record leaves its lock, or the file by which it tried the folder.
        foreign = [e for e in store.entries() if not e.startswith((".", "_probe-")) and e != LOCK]
    except NotADirectoryError as error:
        raise InputError(f"--out {out}: is a file; name a directory") from error
    if foreign:
        raise InputError(
            f"--out {out}: holds other files ({', '.join(foreign[:3])}) and no {RECORD}; name a new or empty directory"
        )


def check_out(out: str) -> None:
    """Refuse a relative run directory in a submitted job, whose working directory goes away with it.

    Raises:
        InputError: `out` is missing, or relative where the process runs as a Ray job.
    """
    if not out:
        raise InputError("--out is missing: name the run directory, a path or a URI such as s3://bucket/run")
    if "://" not in out and not os.path.isabs(out) and os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR"):
        raise InputError(
            f"--out {out}: is relative, and a submitted job's working directory goes away; give a full path or URI"
        )
