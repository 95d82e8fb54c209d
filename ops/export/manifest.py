"""The list of an export's files, `export.json`, and the check of a folder against it.

The list is written last, so that a folder that contains it is complete. While an export is running, `.under-way/`
contains the list of the planned files together with the files already in place, and the files copied so far.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from ops.errors import InputError, one_line, visible
from ops.schema import TOOL
from ops.storage.lock import LOCK
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import attempted

MANIFEST, CARD, PROVENANCE = "export.json", "README.md", "provenance.json"
UNDER_WAY = ".under-way"
PLAN = f"{UNDER_WAY}/{MANIFEST}"
BASIS = ("corpus", "topk")  # the tables that are the same in all exports of a run
SHOWN = 3  # maximum number of names in a message

_NAME = re.compile(r"[^./\0][^/\0]*(/[^./\0][^/\0]*)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, order=True)
class ExportedFile:
    """A file of an export.

    Attributes:
        name: the path below the folder.
        bytes: the size; 0 for a file that is not written yet.
        sha256: 64 hexadecimal digits; empty until the file is copied.
        fingerprint: the fingerprint of the stage that wrote the file; empty for a file that export itself writes.
    """

    name: str
    bytes: int
    sha256: str = ""
    fingerprint: str = ""

    def same_table(self, other: "ExportedFile | None") -> bool:
        """Return whether another file is a copy of the same file of a run, or was written from the same data."""
        return other is not None and self.fingerprint == other.fingerprint and self.bytes in (0, other.bytes)


@dataclass(frozen=True)
class Held:
    """The content of a folder according to its lists.

    Attributes:
        manifest: the list of a complete export; None if no export is complete.
        plan: the list of a running or killed export; None if there is none.
        listed: the files of the manifest.
        known: the possible entries for each file in place, by its name: from the manifest and from the plan.
        planned: the files of the plan, by name.
        unfinished: the names of unfinished files, all of them written by export.
    """

    manifest: dict[str, Any] | None
    plan: dict[str, Any] | None
    listed: tuple[ExportedFile, ...]
    known: dict[str, tuple[ExportedFile, ...]]
    planned: dict[str, ExportedFile]
    unfinished: tuple[str, ...] = field(default=())


def look(folder: Path, place: str) -> Held:
    """Return the content of an export's folder according to its lists; a new or empty folder has no content.

    Args:
        folder: the folder.
        place: the option and the folder as messages name them.

    Raises:
        InputError: the folder contains files that no export wrote; the message names the first of them.
    """
    manifest, plan = _read(folder / MANIFEST), _read(folder / PLAN)
    listed = tuple(_files(manifest, "files"))
    planned = {file.name: file for file in _files(plan, "files")}
    possible = [*listed, *_files(plan, "was"), *(file for file in planned.values() if file.sha256)]
    known = {name: tuple(files) for name, files in groupby(sorted(set(possible)), lambda file: file.name)}
    staged = {f"{UNDER_WAY}/{name}" for name in planned}
    lock = _json(folder / LOCK)
    own = {name for name, said in ((MANIFEST, manifest), (PLAN, plan), (LOCK, lock and "token" in lock)) if said}
    written = {MANIFEST, CARD, PROVENANCE, LOCK, PLAN, *staged}
    unfinished, foreign = list[str](), list[str]()
    for name in _besides(folder, {*known, *staged, *own}):
        (unfinished if attempted(name) in written else foreign).append(name)
    if foreign:
        what = "holds other files" if manifest is None and plan is None else "holds other files than its export"
        raise InputError(f"{place}: {what} ({names(foreign)}); move them away, or name a new or an empty folder")
    return Held(manifest, plan, listed, known, planned, tuple(unfinished))


def compare(folder: Path, known: dict[str, tuple[ExportedFile, ...]]) -> tuple[dict[str, ExportedFile], list[str]]:
    """Return the known files that are in place, by name, and the names of known files that were changed.

    Sizes are compared first. Only files with a matching size are read and hashed.
    """
    found, changed = dict[str, ExportedFile](), list[str]()
    matched = side_by_side(lambda name: _matched(folder / name, known[name]), known, LARGE_FILES_AT_ONCE)
    for name, file in zip(known, matched, strict=True):
        if file is not None:
            found[name] = file
        elif os.path.lexists(folder / name):
            changed.append(name)
    return found, changed


def check_listed(folder: Path, place: str) -> list[str]:
    """Return the names of the files of a complete export, including the list, after checking them.

    The card may differ from the one that export wrote, because somebody may have edited it.

    Raises:
        InputError: a file is missing or changed, the folder holds other files, or the export is not complete.
    """
    held = look(folder, place)
    if held.manifest is None or held.plan is not None:
        raise InputError(f"{place}: the export is not complete; export again")
    found, changed = compare(folder, {file.name: (file,) for file in held.listed})
    wrong = [name for name in changed if name != CARD]
    missing = [file.name for file in held.listed if file.name not in found and file.name not in changed]
    refuse_changed(place, wrong)
    refuse_missing(place, missing)
    return [*(file.name for file in held.listed), MANIFEST]


def refuse_changed(place: str, changed: list[str]) -> None:
    """Refuse to continue if files are not as export wrote them.

    Raises:
        InputError: there are such files.
    """
    if changed:
        them = "it" if len(changed) == 1 else "them"
        raise InputError(
            f"{place}: not as export wrote {them}: {names(changed)}; move {them} away, and export again without --push"
        )


def refuse_missing(place: str, missing: list[str]) -> None:
    """Refuse to upload an export that lacks files.

    Raises:
        InputError: there are such files.
    """
    if missing:
        raise InputError(f"{place}: missing: {names(missing)}; export again without --push to copy what is missing")


def basis(files: Iterable[ExportedFile]) -> set[tuple[str, str]]:
    """Return what identifies the exports of one run: the fingerprints of its corpus and of its top K."""
    found = ((file.name.partition("/")[0], file.fingerprint) for file in files)
    return {(table, fingerprint) for table, fingerprint in found if table in BASIS}


def hash_file(path: Path) -> str:
    """Return the sha256 of a file, as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def as_json(files: Iterable[ExportedFile]) -> list[dict[str, Any]]:
    """Return files as dicts for JSON, sorted by name, without empty entries."""
    return [{key: value for key, value in asdict(file).items() if value != ""} for file in sorted(files)]


def names(found: Collection[str]) -> str:
    """Return the first of these names as text for a message, followed by the number of the others."""
    more = len(found) - SHOWN
    return one_line(visible(", ".join(list(found)[:SHOWN]))) + (f" and {more} more" if more > 0 else "")


def _matched(path: Path, files: tuple[ExportedFile, ...]) -> ExportedFile | None:
    """Return which of these entries a file matches; None if it is missing, not a regular file, or matches none."""
    size = _size(path)
    sized = [file for file in files if file.bytes == size]
    if not sized:
        return None
    found = hash_file(path)
    return next((file for file in sized if file.sha256 == found), None)


def _size(path: Path) -> int | None:
    """Return the size of a regular file, or None for anything else; links are not followed."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _besides(folder: Path, known: set[str]) -> Iterator[str]:
    """Yield everything in a folder except known files and the folders that contain them; links are not known files."""
    folders = {UNDER_WAY} | {name[:i] for name in known for i, letter in enumerate(name) if letter == "/"}
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(folder / below) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        for entry in found:
            name = below + entry.name
            if name in folders and entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            elif name not in known or not entry.is_file(follow_symlinks=False):
                yield name


def _json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if there is none; only a regular file is opened."""
    if _size(path) is None:
        return None
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read(path: Path) -> dict[str, Any] | None:
    """Return the list of an export; None if there is none, or if it does not have the form that export writes."""
    found = _json(path)
    if found is None or found.get("tool") != TOOL:
        return None
    entries = [found.get("files"), found.get("was", [])]
    return found if all(isinstance(held, list) and all(map(_is_file, held)) for held in entries) else None


def _is_file(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or type(entry.get("bytes")) is not int:
        return False
    own = entry["name"] in (MANIFEST, LOCK) or not _NAME.fullmatch(entry["name"])
    texts = entry.get("sha256", ""), entry.get("fingerprint", "")
    return not own and all(isinstance(t, str) for t in texts) and (not texts[0] or bool(_SHA256.fullmatch(texts[0])))


def _files(said: dict[str, Any] | None, key: str) -> Iterator[ExportedFile]:
    for entry in (said or {}).get(key, []):
        yield ExportedFile(entry["name"], entry["bytes"], entry.get("sha256", ""), entry.get("fingerprint", ""))
