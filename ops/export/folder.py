"""A dataset folder: what it says of the run, the check of what lies there, and the tables' files copied into it.

A folder is made under a name of its own and renamed at the end, so that it is whole or absent; a killed export leaves
that one, and the next export of the same tables goes on with it.
"""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ops.errors import InputError
from ops.export.licences import without_place
from ops.schema import TABLES
from ops.storage.store import Store

PROVENANCE = "provenance.json"
UNDER_WAY = ".tables.json"  # in the folder to be: of which tables it is
CHUNK = 1 << 22

Row = dict[str, Any]


def provenance(run: Row, stages: Iterable[str], tables: Iterable[str]) -> Row:
    """Return what the folder says of the run: versions, model, stages and tables, without any path of the machine.

    Args:
        run: what run.json holds.
        stages: those that are told of, all complete.
        tables: their tables; those that are no rows, or that the run does not have, are left out.
    """
    kept = ("started", "finished", "seconds", "fingerprint", "identity", "counts")
    named = run["tables"]
    held = {
        table: {
            "rows": sum(f["rows"] for f in named[table]),
            "bytes": sum(f["bytes"] for f in named[table]),
            "fingerprint": named[table][0]["fingerprint"],
        }
        for table in tables
        if (table in TABLES or table == "activations") and named.get(table)
    }
    told = {name: {key: run["stages"][name][key] for key in kept} for name in stages}
    about = {name: run[name] for name in ("tool", "schema_version", "versions", "model")}
    cleaned: Row = without_place({**about, "stages": told, "tables": held})
    return cleaned


def check_folder(to: str, store: Store, found: Row) -> Path:
    """Return the folder to make; where it exists it is an export of the same tables.

    Args:
        to: its path, as it was given.
        store: the run's folder.
        found: the `provenance` of the export.

    Raises:
        InputError: it holds something else, lies in the run, or is no path of this machine.
    """
    if not to:
        raise InputError("--to is missing: name the folder to make")
    if "://" in to:
        raise InputError(f"--to {to}: is no path of this machine; export to one, and copy it, or give --push")
    folder = Path(os.path.abspath(os.path.expanduser(to)))
    if store.local and folder.is_relative_to(store.root):
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
    if not isinstance(before, dict) or before.get("tool") != found["tool"]:
        raise InputError(f"--to {to}: holds other files; name a new or an empty folder")
    if before.get("tables") != found["tables"]:
        raise InputError(f"--to {to}: holds an export of other tables; name a new folder, or remove it first")
    return folder


def begin_folder(folder: Path, found: Row, needed: int) -> Path:
    """Return the folder under way in which `folder` is made, with what a killed export of the same tables left there.

    Args:
        folder: the folder to make.
        found: the `provenance` of the export.
        needed: bytes that are to be in it.

    Raises:
        InputError: it cannot be written, or there is no room for it.
    """
    under_way = folder.with_name(f".{folder.name}.under-way")
    _drop_other(under_way, found["tables"])
    _check_room(under_way, needed)
    (under_way / UNDER_WAY).write_text(json.dumps(found["tables"]), encoding="utf-8")
    return under_way


def copy_file(store: Store, name: str, target: Path, size: int) -> None:
    """Copy a file; one that is there whole, by an export that was killed, is left."""
    if target.exists() and target.stat().st_size == size:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.half")
    with store.filesystem.open_input_stream(store.path(name), compression=None) as source, open(half, "wb") as file:
        shutil.copyfileobj(source, file, CHUNK)
    os.replace(half, target)


def finish_folder(under_way: Path, folder: Path, found: Row, card: str) -> None:
    """Write the card and the provenance, and give the folder its name."""
    (under_way / "README.md").write_text(card, encoding="utf-8")
    (under_way / UNDER_WAY).unlink()
    # The last, so that a folder that has it is whole.
    (under_way / PROVENANCE).write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(under_way, folder)


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
