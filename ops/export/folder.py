"""An export's folder: written aside, and put in place only once it is complete.

The files are written to a temporary folder next to the export's folder, whose place it then takes. So a folder that
contains `export.json` is complete, and a killed export leaves the earlier one as it was.
"""

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ops.errors import InputError, disk_full, one_line, some_of, visible
from ops.facts.rows import Row
from ops.schema import TOOL
from ops.storage.store import Store

MANIFEST, CARD, PROVENANCE = "export.json", "README.md", "provenance.json"
SHOWN = 3  # maximum number of names in a message

Write = Callable[[str], None]


@dataclass(frozen=True)
class Export:
    """What an export writes.

    Attributes:
        form: the name of its format.
        provenance: the description of the run, the content of `provenance.json`.
        files: the function that writes each file to a local path, by the file's name.
        card: the text of README.md.
        bytes: the size of the files; 0 if it is not known before they are written.
    """

    form: str
    provenance: Row
    files: Mapping[str, Write]
    card: str
    bytes: int = 0

    @property
    def identity(self) -> Row:
        """The entries of `export.json` in which an export must agree with one that it replaces."""
        return {"tool": TOOL, "format": self.form, "run": self.provenance["stages"]["topk"]["fingerprint"]}

    @property
    def names(self) -> list[str]:
        """The names of all files that are written."""
        return [*self.files, PROVENANCE, CARD, MANIFEST]


def check_folder(to: str, run: Store) -> Path:
    """Return the folder that `--to` names, with links resolved; its content is neither read nor changed.

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


def copies(run: Store, files: Iterable[Row]) -> dict[str, Write]:
    """Return the functions that copy files of a run, by their names; `files` are entries of run.json."""
    return {file["name"]: partial(_copy_file, run, file["name"], file["bytes"]) for file in files}


def _copy_file(run: Store, name: str, size: int, path: str) -> None:
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


def check_earlier(folder: Path, flag: str, wanted: Export) -> bytes | None:
    """Check that a folder is new, empty, or an earlier export of the same run; return its card if it was edited.

    The folder is that of `check_folder`, and `flag` the option and the folder as messages name them. The export that
    is `wanted` is to take the folder's place.

    Raises:
        InputError: the folder contains files that no export wrote or that were changed since, or an export in another
            format or of another run, or it cannot be read.
    """
    with _accessible(flag):
        if not folder.exists():
            return None
        earlier = _read_manifest(folder / MANIFEST)
        listed = {**earlier["files"], CARD: None, MANIFEST: None} if earlier else {}
        others = sorted(_besides(folder, listed))
    if others:
        names = one_line(visible(some_of(others, SHOWN)))
        raise InputError(
            f"{flag}: holds other files, or changed ones ({names}); move them away, or name a new or an empty folder"
        )
    if earlier is None:
        return None
    if not wanted.identity.items() <= earlier.items():
        raise InputError(
            f"{flag}: holds an export of another run or in another format; name a new folder, or remove this one first"
        )
    with _accessible(flag), suppress(FileNotFoundError):
        card = (folder / CARD).read_bytes()
        return card if _digest(card) != earlier["card"] else None
    return None


def _read_manifest(path: Path) -> Row | None:
    """Return the content of `export.json`; None if it is missing or not in the form in which export writes it."""
    try:
        manifest: Row = json.loads(path.read_bytes()) if stat.S_ISREG(os.lstat(path).st_mode) else {}
        return manifest if manifest["tool"] == TOOL and manifest["card"] and manifest["files"].items() else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _besides(folder: Path, listed: Mapping[str, int | None]) -> Iterator[str]:
    """Yield what a folder contains besides listed files of the given size (None: any size) and the folders of these."""
    holding = {str(parent) for name in listed for parent in Path(name).parents}
    for root, folders, files in os.walk(folder, onerror=_raise):
        for name in [*folders, *files]:
            path = os.path.relpath(os.path.join(root, name), folder)
            status = os.lstat(folder / path)
            if stat.S_ISDIR(status.st_mode):
                ours = path in holding
            else:
                ours = stat.S_ISREG(status.st_mode) and path in listed and listed[path] in (None, status.st_size)
            if not ours:
                yield path
        folders[:] = [name for name in folders if os.path.relpath(os.path.join(root, name), folder) in holding]


def _raise(error: OSError) -> None:
    raise error


def write_export(folder: Path, flag: str, wanted: Export, written: Callable[[], object]) -> bool:
    """Write an export and put it in the place of the folder; return whether an edited card was kept.

    The arguments are those of `check_earlier`, which accepts what the folder holds; each file ends with `written`.

    Raises:
        InputError: the folder cannot be written or has too little room, or it or the run changed meanwhile.
    """
    with _accessible(flag):
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".atlas-export-", dir=folder.parent))
    new = scratch / "new"
    try:
        free = shutil.disk_usage(scratch).free
        if wanted.bytes > free:
            raise InputError(
                f"{flag}: {wanted.bytes:,} bytes are to be copied, but only {free:,} are free there; free some space"
            )
        for name, write in wanted.files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            write(str(new / name))
            written()
        (new / PROVENANCE).write_text(_json(wanted.provenance), encoding="utf-8")
        sizes = {name: (new / name).stat().st_size for name in (*wanted.files, PROVENANCE)}
        text = wanted.card.encode()
        manifest = wanted.identity | {"card": _digest(text), "files": sizes}
        (new / MANIFEST).write_text(_json(manifest), encoding="utf-8")
        # Copying may take hours, during which somebody may change the folder.
        edited = check_earlier(folder, flag, wanted)
        (new / CARD).write_bytes(text if edited is None else edited)
        with _accessible(flag):
            _replace(folder, new, scratch / "before")
    finally:
        shutil.rmtree(new, ignore_errors=True)
        with suppress(OSError):
            scratch.rmdir()
    return edited is not None


def _replace(folder: Path, new: Path, before: Path) -> None:
    """Put a new folder in the place of another one, which is removed afterwards; put it back if that fails."""
    try:
        with suppress(FileNotFoundError):
            os.rename(folder, before)
        os.rename(new, folder)
    except BaseException:
        if before.exists() and not folder.exists():
            os.rename(before, folder)
        raise
    shutil.rmtree(before, ignore_errors=True)


@contextmanager
def _accessible(flag: str) -> Iterator[None]:
    """Turn errors of the file system into one that names the folder, except that of a full disk."""
    try:
        yield
    except OSError as error:
        if disk_full(error):
            raise
        why = one_line(error.strerror or error)
        raise InputError(f"{flag}: cannot be read and written ({why}); name another folder") from error


def _json(value: Row) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _digest(card: bytes) -> str:
    return hashlib.sha256(card).hexdigest()
