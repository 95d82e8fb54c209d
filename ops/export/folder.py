"""An export's folder: what it records about the run, and how it is written aside and put in place as a whole.

The files are written to a temporary folder next to the export's folder, which takes its place once it is complete. So a
folder that contains `export.json` is complete, and a killed export leaves the earlier one as it was.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ops.errors import InputError, disk_full, one_line, visible
from ops.export.licences import without_place
from ops.export.manifest import CARD, MANIFEST, PROVENANCE, ExportedFile, Manifest, earlier_export
from ops.schema import TABLES, TOOL
from ops.storage.fingerprint import fingerprint
from ops.storage.store import Store

BASIS = ("corpus", "topk")  # the tables that are the same in all exports of a run
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


@dataclass(frozen=True)
class NewFile:
    """A file that an export writes.

    Attributes:
        name: the path below the folder.
        write: writes the file to a local path.
        fingerprint: the fingerprint of the stage that wrote it, or of all that it depends on.
        bytes: the size; 0 if it is not known before the file is written.
    """

    name: str
    write: Callable[[str], None]
    fingerprint: str
    bytes: int = 0


@dataclass(frozen=True)
class Contents:
    """The planned content of an export.

    Attributes:
        about: the entries of `export.json` other than its files: the tool, its version, the run, and the format unless
            the export is a dataset folder.
        files: the files.
        texts: the texts of the other files, by file name.
    """

    about: Row
    files: tuple[NewFile, ...]
    texts: dict[str, str]

    @property
    def bytes(self) -> int:
        """The number of bytes of all files, as far as it is known."""
        return sum(file.bytes for file in self.files)

    @property
    def n_tables(self) -> int:
        """The number of tables."""
        return len({file.name.rpartition("/")[0] for file in self.files})

    @property
    def names(self) -> list[str]:
        """The names of all files, including `export.json`."""
        return [*(file.name for file in self.files), *self.texts, MANIFEST]


def contents(found: Row, run: Row, store: Store, card: str, version: str) -> Contents:
    """Return the planned content of a dataset folder of a run.

    Args:
        found: the run's `provenance`.
        run: the content of run.json.
        store: the run's folder.
        card: the text of README.md.
        version: the version of this program.
    """
    files = (
        NewFile(
            file["name"], partial(copy_file, store, file["name"], file["bytes"]), file["fingerprint"], file["bytes"]
        )
        for table in found["tables"]
        for file in run["tables"][table]
    )
    return Contents(_about(found, version), tuple(files), _texts(found, card))


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
    return Contents(about, tuple(NewFile(name, write, same) for name, write in writers.items()), _texts(found, card))


def _about(found: Row, version: str) -> Row:
    stages = {name: stage["fingerprint"] for name, stage in found["stages"].items()}
    return {"tool": TOOL, "version": version, "run": {"model": found["model"]["fingerprint"], "stages": stages}}


def _texts(found: Row, card: str) -> dict[str, str]:
    return {CARD: card, PROVENANCE: json.dumps(found, indent=2, ensure_ascii=False) + "\n"}


def copy_file(run: Store, name: str, size: int, path: str) -> None:
    """Copy a file of a run to a local path.

    Raises:
        InputError: the file no longer exists or does not have the size in run.json, so another job changed the run.
    """
    try:
        with run.filesystem.open_input_stream(run.path(name), compression=None) as source, open(path, "wb") as file:
            shutil.copyfileobj(source, file)
            copied = file.tell()
        if copied != size:
            raise FileNotFoundError(f"{copied:,} bytes, not {size:,}")
    except FileNotFoundError as error:
        raise InputError(
            f"--out {run.uri}: {name} changed while it was copied ({one_line(error)}); give the same command again"
        ) from error


def check_earlier(folder: Path, place: str, wanted: Contents) -> Manifest | None:
    """Return the list of the export in a folder, which a new export may replace; None for a new or empty folder.

    For dataset folders, the tables themselves are compared, because a run may have more tables now.

    Args:
        folder: the folder, from `check_folder`.
        place: the option and the folder as messages name them.
        wanted: the planned content.

    Raises:
        InputError: the folder contains other files, changed files, or an export in another format or of another run, or
            it cannot be read.
    """
    with _accessible(place):
        earlier = earlier_export(folder, place)
    if earlier is None:
        return None
    form, wanted_form = earlier.about.get("format", HUB), wanted.about.get("format", HUB)
    if form != wanted_form:
        raise InputError(
            f"{place}: holds an export in the format {one_line(visible(str(form)), 40)}, not {wanted_form}; "
            "name a new folder, or remove this one first"
        )
    if wanted_form != HUB and _topk(earlier.about) != _topk(wanted.about):
        raise InputError(f"{place}: holds an export of another run; name a new folder, or remove this one first")
    if wanted_form == HUB and not _basis(earlier.files.values()) <= _basis(wanted.files):
        raise InputError(
            f"{place}: holds an export of other tables: its corpus/ or topk/ is not this run's; "
            "name a new folder, or remove this one first"
        )
    return earlier


def _topk(about: Row) -> Any:
    run = about.get("run")
    stages = run.get("stages") if isinstance(run, dict) else None
    return stages.get("topk") if isinstance(stages, dict) else None


def _basis(files: Iterable[ExportedFile | NewFile]) -> set[tuple[str, str]]:
    """Return what identifies the exports of one run: the fingerprints of its corpus and of its top K."""
    found = ((file.name.partition("/")[0], file.fingerprint) for file in files)
    return {(table, fingerprint) for table, fingerprint in found if table in BASIS}


def write_export(folder: Path, place: str, wanted: Contents, written: Callable[[int], object]) -> bool:
    """Write an export and put it in the place of the folder; return whether an edited card was kept.

    Args:
        folder: the folder, from `check_folder`; `check_earlier` accepts what it holds.
        place: the option and the folder as messages name them.
        wanted: the planned content.
        written: called with the number of bytes of each file.

    Raises:
        InputError: the folder cannot be written or has too little room, or it or the run changed meanwhile.
    """
    with _aside(folder, place) as scratch:
        new = Store(str(scratch / "new"))
        free = new.free_bytes()
        if free is not None and wanted.bytes > free:
            raise InputError(
                f"{place}: {wanted.bytes:,} bytes are to be copied, but only {free:,} are free there; free some space"
            )
        files: list[ExportedFile] = []
        for file in wanted.files:
            new.commit(file.name, file.write)
            files.append(ExportedFile.of(Path(new.root), file.name, file.fingerprint))
            written(files[-1].bytes)
        for name, text in wanted.texts.items():
            new.commit(name, partial(_write, text.encode()))
            files.append(ExportedFile.of(Path(new.root), name))
        # The list keeps the entry of the card that export wrote, so that later exports recognise an edited card.
        new.write_json(MANIFEST, Manifest(wanted.about, {file.name: file for file in files}).as_json())
        # Copying may take hours, during which somebody may change the folder.
        card = _edited_card(folder, check_earlier(folder, place, wanted), wanted.texts[CARD])
        if card is not None:
            new.commit(CARD, partial(_write, card))
        with _accessible(place):
            with suppress(FileNotFoundError):
                os.rename(folder, scratch / "before")
            os.rename(new.root, folder)
    return card is not None


@contextmanager
def _aside(folder: Path, place: str) -> Iterator[Path]:
    """Make a temporary folder next to a folder, and remove it in the end."""
    with _accessible(place):
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.mkdtemp(prefix=".atlas-export-", dir=folder.parent)
    try:
        yield Path(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _accessible(place: str) -> Iterator[None]:
    """Turn errors of the file system into one that names the folder, except that of a full disk."""
    try:
        yield
    except OSError as error:
        if disk_full(error):
            raise
        why = one_line(error.strerror or error)
        raise InputError(f"{place}: cannot be read and written ({why}); name another folder") from error


def _edited_card(folder: Path, earlier: Manifest | None, text: str) -> bytes | None:
    """Return the card of an earlier export if it was edited; None otherwise."""
    if earlier is None or CARD not in earlier.files or not (folder / CARD).exists():
        return None
    card = (folder / CARD).read_bytes()
    known = (earlier.files[CARD].sha256, hashlib.sha256(text.encode()).hexdigest())
    return None if hashlib.sha256(card).hexdigest() in known else card


def _write(data: bytes, path: str) -> None:
    Path(path).write_bytes(data)
