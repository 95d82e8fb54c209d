"""An export's folder: what it records about the run, which process may change it, and the files written into it.

Files are first written to `.under-way/` in the folder, and are moved into place once all of them are complete. A killed
export leaves its finished files, and the next export resumes from there. `ops/export/manifest.py` records which files
the export owns; no other files are touched.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ops.errors import InputError, disk_full, one_line, visible
from ops.export.licences import without_place
from ops.export.manifest import (
    CARD,
    MANIFEST,
    PLAN,
    PROVENANCE,
    UNDER_WAY,
    ExportedFile,
    as_json,
    basis,
    compare,
    hash_file,
    look,
    refuse_changed,
    refuse_missing,
)
from ops.schema import TABLES, TOOL
from ops.storage.fingerprint import fingerprint
from ops.storage.lock import Lock
from ops.storage.store import Store

CHUNK = 1 << 22
HUB = "hub"  # the format of a dataset folder

Row = dict[str, Any]


def provenance(run: Row, stages: Iterable[str], tables: Iterable[str]) -> Row:
    """Return the folder's description of the run: versions, model, stages and tables, without paths of the machine.

    Args:
        run: the content of run.json.
        stages: the stages to describe, all of them complete.
        tables: the tables of these stages; figures and tables that the run does not have are left out.
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


def check_folder(to: str, run: Store) -> Path:
    """Return the folder that `--to` names, with links resolved; its content is neither read nor changed.

    Args:
        to: the path as it was given.
        run: the run's folder.

    Raises:
        InputError: the path is missing, is not a folder, is inside the run, or is not a path of this machine.
    """
    if not to:
        raise InputError("--to is missing: name the folder to make")
    if "://" in to:
        raise InputError(f"--to {to}: is not a path on this machine; export to one and copy it, or give --push")
    named = os.path.abspath(os.path.expanduser(to))
    if os.path.lexists(named) and not os.path.exists(named):
        raise InputError(f"--to {to}: is a broken link; name another folder")
    folder = Path(os.path.realpath(named))
    if run.local and folder.is_relative_to(os.path.realpath(run.root)):
        raise InputError(f"--to {to}: is inside the run's own folder; name a folder outside it")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise InputError(f"--to {to}: is a file; name a folder")
    return folder


@contextmanager
def hold_folder(folder: Path, to: str) -> Iterator[Store]:
    """Create a folder if it does not exist, lock it for other exports in this context, and yield it as a store.

    Raises:
        InputError: the folder contains files that no export wrote, cannot be written, or is locked by another job.
    """
    place = f"--to {to}"
    target = Store(str(folder))
    lock = Lock(target, "export", place, "folder")
    try:
        new = not folder.exists()
        if not new:
            _check_ours(folder, lock)
        folder.mkdir(parents=True, exist_ok=True)
        lock.take()
    except OSError as error:
        if disk_full(error):
            raise
        why = one_line(error.strerror or error)
        raise InputError(f"{place}: cannot be read and written ({why}); name another folder") from error
    try:
        yield target
    finally:
        lock.release()
        if new:
            # An export that was refused leaves no folder behind.
            with suppress(OSError):
                folder.rmdir()


def _check_ours(folder: Path, lock: Lock) -> None:
    """Check, before anything is written, that a folder contains only files of exports.

    Raises:
        InputError: the folder contains other files, or another job has locked it.
    """
    lock.check_free()
    try:
        look(folder, lock.place)
    except InputError:
        # Another job may have started or finished during this check.
        lock.check_free()
        look(folder, lock.place)


@dataclass(frozen=True)
class Contents:
    """The planned content of an export.

    Attributes:
        about: the entries of `export.json` other than its files: the tool, its version, the run, and the format unless
            the export is a dataset folder.
        tables: the files to copy or to write, without hashes yet.
        texts: the texts of the other files to write, by file name.
        writers: the functions that write a file to a local path, by the file's name; a file without a function is
            copied from the run.
    """

    about: Row
    tables: tuple[ExportedFile, ...]
    texts: dict[str, str]
    writers: Mapping[str, Callable[[str], None]] = field(default_factory=dict)

    @property
    def n_tables(self) -> int:
        """The number of tables."""
        return len({file.name.rpartition("/")[0] for file in self.tables})


def contents(found: Row, run: Row, card: str, version: str) -> Contents:
    """Return the planned content of a dataset folder of a run.

    Args:
        found: the run's `provenance`.
        run: the content of run.json.
        card: the text of README.md.
        version: the version of this program.
    """
    tables = (
        ExportedFile(file["name"], file["bytes"], fingerprint=file["fingerprint"])
        for table in found["tables"]
        for file in run["tables"][table]
    )
    return Contents(_about(found, version), tuple(tables), _texts(found, card))


def written_contents(
    form: str, found: Row, writers: Mapping[str, Callable[[str], None]], options: Row, card: str, version: str
) -> Contents:
    """Return the planned content of an export in another format, whose files are written from the run's tables.

    Args:
        form: the format's name.
        found: the run's `provenance`.
        writers: the function that writes each file to a local path, by the file's name.
        options: all options on which the files depend, in addition to the run.
        card: the text of README.md.
        version: the version of this program.
    """
    about = _about(found, version) | {"format": form, "options": options}
    # The files depend only on version, run and options: with the same fingerprint, the same files would be written.
    same = fingerprint(about)
    files = tuple(ExportedFile(name, 0, fingerprint=same) for name in writers)
    return Contents(about, files, _texts(found, card), writers)


def _about(found: Row, version: str) -> Row:
    stages = {name: stage["fingerprint"] for name, stage in found["stages"].items()}
    return {"tool": TOOL, "version": version, "run": {"model": found["model"]["fingerprint"], "stages": stages}}


def _texts(found: Row, card: str) -> dict[str, str]:
    return {CARD: card, PROVENANCE: json.dumps(found, indent=2, ensure_ascii=False) + "\n"}


class Export:
    """An export to a folder that this job has locked: it decides which files to copy, and puts them in place.

    Args:
        target: the folder.
        to: the folder's path as it was given.
        wanted: the planned content of the folder.
        complete: whether to refuse an earlier export that lacks files; otherwise the missing files are copied again.

    Attributes:
        files: the files to copy or write.
        bytes: number of bytes to copy.
        edited: whether the card was edited after export wrote it; an edited card is kept.

    Raises:
        InputError: the folder contains other files, an export of another run, or changed files.
    """

    def __init__(self, target: Store, to: str, wanted: Contents, complete: bool = False) -> None:
        self._target, self._wanted, self._folder, self._place = target, wanted, Path(target.root), f"--to {to}"
        self._held = held = look(self._folder, self._place)
        self._in_place, changed = compare(self._folder, held.known)
        self.edited = False
        if CARD in changed:
            new = _as_file(CARD, wanted.texts[CARD])
            self.edited = hash_file(self._folder / CARD) != new.sha256
            # The list keeps the entry of the card that export wrote, so that later exports recognise the edited card.
            self._in_place[CARD] = held.known[CARD][0] if self.edited else new
        self._check_same_run()
        if basis(self._in_place.values()) - basis(wanted.tables) or basis(held.listed) - basis(wanted.tables):
            raise InputError(
                f"{self._place}: holds an export of other tables: its corpus/ or topk/ is not this run's; "
                "name a new folder, or remove this one first"
            )
        refuse_changed(self._place, [name for name in changed if name != CARD])
        if complete:
            found = {*self._in_place, CARD, *held.planned}
            refuse_missing(self._place, [file.name for file in held.listed if file.name not in found])
        self._missing = [file for file in wanted.tables if not file.same_table(self._in_place.get(file.name))]
        self.files = len(self._missing)
        self.bytes = sum(file.bytes for file in self._missing)
        self._check_room()

    def _check_same_run(self) -> None:
        """Refuse a folder with a complete or unfinished export in another format or of another run.

        For dataset folders, the tables themselves are compared, because a run may have more tables now.
        """
        own = self._wanted.about
        for said in filter(None, (self._held.manifest, self._held.plan)):
            form, wanted = said.get("format", HUB), own.get("format", HUB)
            if form != wanted:
                raise InputError(
                    f"{self._place}: holds an export in the format {one_line(visible(str(form)), 40)}, not {wanted}; "
                    "name a new folder, or remove this one first"
                )
            held = said.get("run")
            stages = held.get("stages") if isinstance(held, dict) else None
            topk = stages.get("topk") if isinstance(stages, dict) else None
            if wanted != HUB and topk != own["run"]["stages"].get("topk"):
                raise InputError(
                    f"{self._place}: holds an export of another run; name a new folder, or remove this one first"
                )

    def copy(self, run: Store, copied: Callable[[int], object]) -> None:
        """Copy or write the missing files to `.under-way/`; files that a killed export finished are kept.

        Args:
            run: the run's folder.
            copied: called with the number of bytes of each file.
        """
        for name in self._held.unfinished:
            self._target.delete(name)
        for name in (self._held.known.keys() | self._held.planned.keys()) - self._in_place.keys():
            # A killed export may have created the file's folder, or left it empty.
            _remove_empty(self._folder, name)
        usable = {file.name for file in self._missing if self._is_copied(file)}
        self._drop(f"{UNDER_WAY}/{name}" for name in self._held.planned.keys() - usable)
        if not self._missing:
            return
        self._write_plan(self._missing)
        hashed = []
        for file in self._missing:
            staged = f"{UNDER_WAY}/{file.name}"
            found = hash_file(self._folder / staged) if file.name in usable else ""
            if not found or self._held.planned[file.name].sha256 not in ("", found):
                write = self._wanted.writers.get(file.name)
                if write is None:
                    found = copy_file(run, file.name, self._target, staged, file.bytes)
                else:
                    self._target.commit(staged, write)
                    found = hash_file(self._folder / staged)
            hashed.append(replace(file, sha256=found, bytes=_size(self._folder / staged)))
            copied(hashed[-1].bytes)
        self._missing = hashed

    def finish(self) -> None:
        """Put the copied files in place, remove files that the run no longer has, and write the card and the list."""
        card = self._in_place.get(CARD)
        if card is not None and (self._folder / CARD).exists():
            # Copying may take hours, during which somebody may edit the card.
            self.edited = self.edited or hash_file(self._folder / CARD) != card.sha256
        texts = {name: text for name, text in self._wanted.texts.items() if name != CARD or not self.edited}
        new = {file.name: file for file in (*self._missing, *(_as_file(*text) for text in texts.items()))}
        wanted = [file.name for file in self._wanted.tables] + list(self._wanted.texts)
        files = {name: new[name] if name in new else self._in_place[name] for name in wanted}
        manifest = {**self._wanted.about, "files": as_json(files.values())}
        if manifest != self._held.manifest or self._held.plan is not None or files != self._in_place:
            self._write_plan(new.values())
            self._target.delete(MANIFEST)
            for file in self._missing:
                staged = f"{UNDER_WAY}/{file.name}"
                _move(self._folder / staged, self._folder / file.name)
                _remove_empty(self._folder, staged)
            self._drop(self._held.known.keys() - files.keys())
            for name, text in texts.items():
                self._target.commit(name, partial(_write, text))
            # The list is written last, so that a folder that contains it is complete.
            self._target.write_json(MANIFEST, manifest)
        self._drop([PLAN])

    def _write_plan(self, new: Iterable[ExportedFile]) -> None:
        was = as_json(self._in_place.values())
        self._target.write_json(PLAN, {**self._wanted.about, "files": as_json(new), "was": was})

    def _is_copied(self, file: ExportedFile) -> bool:
        """Return whether a killed export completely copied a file."""
        size = _size(self._folder / UNDER_WAY / file.name)
        whole = size == file.bytes if file.bytes else size > 0
        return whole and file.same_table(self._held.planned.get(file.name))

    def _check_room(self) -> None:
        there = sum(file.bytes for file in self._missing if self._is_copied(file))
        free = self._target.free_bytes()
        if free is not None and self.bytes - there > free:
            raise InputError(
                f"{self._place}: {self.bytes - there:,} bytes are to be copied, but only "
                f"{free:,} are free there; free some space"
            )

    def _drop(self, names: Iterable[str]) -> None:
        """Remove files that export wrote, and then the empty folders; ignore files that do not exist."""
        for name in names:
            self._target.delete(name)
            _remove_empty(self._folder, name)


def copy_file(run: Store, name: str, target: Store, to: str, size: int) -> str:
    """Copy a file of a run in one step, and return its sha256.

    Raises:
        InputError: the file no longer exists or does not have the size in run.json, so another job changed the run.
    """
    whole = hashlib.sha256()

    def write(path: str) -> None:
        copied = 0
        with run.filesystem.open_input_stream(run.path(name), compression=None) as source, open(path, "wb") as file:
            while data := source.read(CHUNK):
                whole.update(data)
                file.write(data)
                copied += len(data)
        if copied != size:
            raise FileNotFoundError(f"{copied:,} bytes, not {size:,}")

    try:
        target.commit(to, write)
    except FileNotFoundError as error:
        raise InputError(
            f"--out {run.uri}: {name} changed while it was copied ({one_line(error)}); give the same command again"
        ) from error
    return whole.hexdigest()


def _as_file(name: str, text: str) -> ExportedFile:
    data = text.encode("utf-8")
    return ExportedFile(name, len(data), hashlib.sha256(data).hexdigest())


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(source, target)


def _remove_empty(folder: Path, name: str) -> None:
    """Remove the folders that contained a file, up to the export's folder, as long as they are empty."""
    for parent in list((folder / name).parents):
        if parent == folder:
            return
        with suppress(OSError):
            parent.rmdir()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else -1


def _write(text: str, path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
