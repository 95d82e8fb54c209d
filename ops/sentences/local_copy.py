"""This machine's copy of a run's annotated sentences, made by one process, shared by all and removed at the end."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ops.errors import InputError, one_line
from ops.schema import SCHEMA_VERSION
from ops.sentences.store import SentenceStore, build_copy
from ops.storage.store import Store

_LAYOUT = "folds"  # name of the layout of the copy's files; another layout needs another name


def open_sentences(store: Store, codes: str, fingerprint: str) -> SentenceStore:
    """Open this machine's copy of a run's annotated sentences, after making it if it does not exist.

    If several processes of a machine call this function at the same time, one makes the copy and the others wait.

    Args:
        store: the run's directory.
        codes: the path below the run's directory of the annotated sentences as codes.
        fingerprint: the fingerprint of the annotate stage, which identifies the copy.

    Raises:
        InputError: the folder of the copies cannot be made, or it or the copy belongs to another user or is no folder.
    """
    folder = _copy(fingerprint)
    _check_private(folder.parent)
    if not folder.exists():
        with _alone(folder):
            if not folder.exists():
                _build(store, codes, folder)
    _check_own(folder)
    return SentenceStore(folder)


def drop_sentences(fingerprint: str) -> None:
    """Remove this machine's complete and incomplete copies of a run's annotated sentences, if this user owns them."""
    folder = _copy(fingerprint)
    if not folder.parent.exists() or not _is_own(folder.parent):
        return
    with _alone(folder):
        for copy in (folder, _attempt(folder)):
            shutil.rmtree(copy, ignore_errors=True)
        _lock_file(folder).unlink(missing_ok=True)


def _build(store: Store, codes: str, folder: Path) -> None:
    attempt = _attempt(folder)
    shutil.rmtree(attempt, ignore_errors=True)  # what a killed process left
    attempt.mkdir()
    try:
        build_copy(store, codes, attempt)
        attempt.rename(folder)
    finally:
        shutil.rmtree(attempt, ignore_errors=True)


def _copy(fingerprint: str) -> Path:
    """Return the path of this machine's copy: below ATLAS_CACHE or the temporary folder, in the user's folder."""
    base = os.environ.get("ATLAS_CACHE") or tempfile.gettempdir()
    return Path(base) / f"neuron-atlas-{os.getuid()}" / f"{fingerprint[:32]}-{SCHEMA_VERSION}-{_LAYOUT}"


def _attempt(folder: Path) -> Path:
    """Return the path of a copy until it is complete."""
    return folder.parent / f".{folder.name}"


def _lock_file(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.lock"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Prevent other processes of this machine from making or removing the copy inside the `with`.

    The lock of a process that dies is released. Who removes the copy removes the lock's file, and who waited for it
    then asks again.
    """
    path = _lock_file(folder)
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_there(file, path):
                yield
                return
        finally:
            os.close(file)


def _is_there(file: int, path: Path) -> bool:
    """Return whether an open lock file is still at its path: a process that removes the copy also removes this file."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _check_private(folder: Path) -> None:
    """Make the folder of the copies, accessible only to this user; what another user owns cannot be trusted."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        why = f"no folder can be made there ({one_line(error.strerror or error)})"
        raise InputError(f"{folder.parent}: {why}; set ATLAS_CACHE to another place for local copies") from error
    _check_own(folder)


def _check_own(folder: Path) -> None:
    """Check that a folder belongs to this user, and remove other users' access to it."""
    if not _is_own(folder):
        raise InputError(f"{folder}: does not belong to you; set ATLAS_CACHE to another place for local copies")
    if folder.lstat().st_mode & 0o077:
        folder.chmod(0o700)


def _is_own(folder: Path) -> bool:
    found = folder.lstat()
    return found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
