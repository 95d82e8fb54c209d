"""Copying the tables of a finished run into a dataset folder."""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from jobs.stage.record import TOOL
from jobs.stage.run import Run
from jobs.stage.stages import STAGES
from ops.errors import InputError
from ops.export.card import write_card
from ops.export.licences import source_terms, without_place
from ops.schema import TABLES
from ops.storage.store import Store

PROVENANCE = "provenance.json"
UNDER_WAY = ".tables.json"  # in the folder to be: of which tables it is
CHUNK = 1 << 22
_LICENCE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,40}")


def export(out: str, to: str, licence: str, given: dict[str, str]) -> int:
    """Make the folder and return how many tables it has; one that is there already is left as it is.

    Args:
        out: the run's folder.
        to: the folder to make.
        licence: of the whole, empty for none.
        given: terms of sources, by the name of the data set.

    Raises:
        InputError: tables are missing, the folder holds something else, or there is no room for it.
    """
    record = Run(out, create=False)
    record.require("topk")
    if licence and not _LICENCE.fullmatch(licence):
        raise InputError(f"--license {licence}: is no name of a licence as the hub has them, such as cc-by-4.0")
    done = [name for name in STAGES if record.complete(name) and name != "report"]
    record.check_files(*done)
    found = provenance(record, done)
    terms = source_terms(record.require("ingest")["counts"]["sources"], given)
    card = write_card(found, terms, licence)
    folder = _check_folder(to, record, found)
    if folder.exists():
        (folder / "README.md").write_text(card, encoding="utf-8")
        return len(found["tables"])
    files = [name for table in found["tables"] for name in record.store.table_files(table)]
    under_way = folder.with_name(f".{folder.name}.under-way")
    sizes = {f["name"]: f["bytes"] for held in record.record["tables"].values() for f in held}
    _drop_other(under_way, found["tables"])
    _check_room(under_way, sum(sizes[name] for name in files))
    (under_way / UNDER_WAY).write_text(json.dumps(found["tables"]), encoding="utf-8")
    with tqdm(total=sum(sizes[n] for n in files), unit="B", unit_scale=True, desc="export", file=sys.stderr) as bar:
        for name in files:
            _copy(record.store, name, under_way / name, sizes[name])
            bar.update(sizes[name])
    (under_way / "README.md").write_text(card, encoding="utf-8")
    (under_way / UNDER_WAY).unlink()
    # The last, so that a folder that has it is whole.
    (under_way / PROVENANCE).write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(under_way, folder)
    return len(found["tables"])


def provenance(record: Run, done: list[str]) -> dict[str, Any]:
    """Return what the folder says of the run: versions, model, stages and tables, without any path of the machine."""
    kept = ("started", "finished", "seconds", "fingerprint", "identity", "counts")
    named = record.record["tables"]
    tables = {
        table: {
            "rows": sum(f["rows"] for f in named[table]),
            "bytes": sum(f["bytes"] for f in named[table]),
            "fingerprint": named[table][0]["fingerprint"],
        }
        for stage in done
        for table in STAGES[stage].tables
        if (table in TABLES or table == "activations") and named.get(table)
    }
    stages = {name: {key: record.require(name)[key] for key in kept} for name in done}
    about = {name: record.record[name] for name in ("schema_version", "versions", "model")}
    cleaned: dict[str, Any] = without_place({"tool": TOOL, **about, "stages": stages, "tables": tables})
    return cleaned


def _check_folder(to: str, record: Run, found: dict[str, Any]) -> Path:
    """Return the folder to make; where it exists it is an export of the same tables.

    Raises:
        InputError: it holds something else, lies in the run, or is no path of this machine.
    """
    if not to:
        raise InputError("--to is missing: name the folder to make")
    if "://" in to:
        raise InputError(f"--to {to}: is no path of this machine; export to one, and copy it, or give --push")
    folder = Path(os.path.abspath(os.path.expanduser(to)))
    if record.store.local and folder.is_relative_to(record.store.root):
        raise InputError(f"--to {to}: lies in the run's own folder; name one outside of it")
    if not os.path.lexists(folder):
        return folder
    if not folder.is_dir():
        raise InputError(f"--to {to}: is a file; name a folder")
    if not os.listdir(folder):
        folder.rmdir()
        return folder
    try:
        before = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        before = None
    if not isinstance(before, dict) or before.get("tool") != TOOL:
        raise InputError(f"--to {to}: holds other files; name a new or an empty folder")
    if before.get("tables") != found["tables"]:
        raise InputError(f"--to {to}: holds an export of other tables; name a new folder, or remove it first")
    return folder


def _drop_other(folder: Path, tables: dict[str, Any]) -> None:
    """Remove what a killed export left of other tables."""
    try:
        same = json.loads((folder / UNDER_WAY).read_text(encoding="utf-8")) == tables
    except (OSError, ValueError):
        same = False
    if not same:
        shutil.rmtree(folder, ignore_errors=True)


def _check_room(folder: Path, needed: int) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--to: {folder.parent} cannot be written ({error.strerror}); name another folder") from error
    there = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    free = shutil.disk_usage(folder).free
    if needed - there > free:
        raise InputError(
            f"--to: {needed - there:,} bytes are to be copied, and {free:,} are free at {folder.parent}; make room"
        )


def _copy(store: Store, name: str, target: Path, size: int) -> None:
    """Copy a file; one that is there whole, by an export that was killed, is left."""
    if target.exists() and target.stat().st_size == size:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.half")
    with store.filesystem.open_input_stream(store.path(name), compression=None) as source, open(half, "wb") as file:
        shutil.copyfileobj(source, file, CHUNK)
    os.replace(half, target)
