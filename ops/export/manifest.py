"""The list of an export's files, `export.json`, and the check of a folder against it."""

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ops.errors import InputError, one_line, visible
from ops.schema import TOOL

MANIFEST, CARD, PROVENANCE = "export.json", "README.md", "provenance.json"
SHOWN = 3  # maximum number of names in a message


@dataclass(frozen=True, order=True)
class ExportedFile:
    """A file of an export.

    Attributes:
        name: the path below the folder.
        bytes: the size.
        sha256: 64 hexadecimal digits.
        fingerprint: the fingerprint of the stage that wrote the file; empty for a file that export itself writes.
    """

    name: str
    bytes: int
    sha256: str
    fingerprint: str = ""

    @classmethod
    def of(cls, folder: Path, name: str, fingerprint: str = "") -> "ExportedFile":
        """Return the entry of a file below a folder."""
        with open(folder / name, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(name, (folder / name).stat().st_size, digest, fingerprint)


@dataclass(frozen=True)
class Manifest:
    """The list of an export.

    Attributes:
        about: the entries other than the files.
        files: the files, by name.
    """

    about: dict[str, Any]
    files: dict[str, ExportedFile]

    def as_json(self) -> dict[str, Any]:
        """Return the content of `export.json`: its files are sorted by name, and empty entries are left out."""
        files = ({key: value for key, value in asdict(file).items() if value != ""} for file in self.files.values())
        return {**self.about, "files": sorted(files, key=lambda file: str(file["name"]))}


def earlier_export(folder: Path, place: str) -> Manifest | None:
    """Return the list of the export in a folder; None for a new or empty folder.

    Args:
        folder: the folder.
        place: the option and the folder as messages name them.

    Raises:
        InputError: the folder contains files that no export wrote, or a listed file, other than the card, does not have
            its size; the message names the first of them.
    """
    if not folder.exists():
        return None
    manifest = _read(folder / MANIFEST)
    listed = manifest.files if manifest is not None else {}
    foreign = sorted(_besides(folder, {*listed, MANIFEST} if manifest is not None else set()))
    if foreign:
        what = "holds other files" if manifest is None else "holds other files than its export"
        raise InputError(f"{place}: {what} ({_names(foreign)}); move them away, or name a new or an empty folder")
    sizes = {name: _size(folder / name) for name in listed if name != CARD}
    changed = [name for name, size in sizes.items() if size not in (None, listed[name].bytes)]
    if changed:
        them = "it" if len(changed) == 1 else "them"
        raise InputError(
            f"{place}: not as export wrote {them}: {_names(changed)}; move {them} away, and give the command again"
        )
    return manifest


def _names(found: Collection[str]) -> str:
    """Return the first of these names as text for a message, followed by the number of the others."""
    more = len(found) - SHOWN
    return one_line(visible(", ".join(list(found)[:SHOWN]))) + (f" and {more} more" if more > 0 else "")


def _size(path: Path) -> int | None:
    """Return the size of a regular file, or None for anything else; links are not followed."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _besides(folder: Path, known: set[str]) -> Iterator[str]:
    """Yield everything in a folder except known files and the folders that contain them; links are not known files."""
    holding = {str(parent) for name in known for parent in Path(name).parents}
    for root, folders, files in os.walk(folder, onerror=_raise):
        below = os.path.relpath(root, folder)
        for name in [*folders, *files]:
            path = os.path.normpath(os.path.join(below, name))
            is_ours = path in holding if name in folders else path in known and _size(folder / path) is not None
            if not is_ours or os.path.islink(folder / path):
                yield path
        folders[:] = [name for name in folders if os.path.normpath(os.path.join(below, name)) in holding]


def _raise(error: OSError) -> None:
    raise error


def _read(path: Path) -> Manifest | None:
    """Return the list in a file; None if it is not a regular file, or not in the form in which export writes lists."""
    if _size(path) is None:
        return None
    try:
        about = json.loads(path.read_bytes())
        if about["tool"] != TOOL:
            return None
        files: Iterable[ExportedFile] = [
            ExportedFile(str(file["name"]), int(file["bytes"]), str(file["sha256"]), str(file.get("fingerprint", "")))
            for file in about.pop("files")
        ]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Manifest(about, {file.name: file for file in files})
