"""This machine's copy of a run's annotated sentences: made by one process, shared by all, removed in the end."""

import fcntl
import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ops.errors import InputError, one_line
from ops.schema import SCHEMA_VERSION
from ops.sentences.build_copy import build_copy
from ops.sentences.store import SentenceStore
from ops.storage.store import Store

_LAYOUT = "halves"  # of the copy's files: another one has another name


def open_sentences(store: Store, codes: str, fingerprint: str) -> SentenceStore:
    """Open this machine's copy of a run's annotated sentences, which is made first where there is none.

    Of the processes of a machine that ask at once one makes it, and the others wait.

    Args:
        store: the run's directory.
        codes: the folder below it that holds the annotated sentences as codes.
        fingerprint: the annotate stage's, by which the copy is known.

    Raises:
        InputError: the folder of the copies, or the copy, is somebody else's.
    """
    folder = _copy(fingerprint)
    _check_private(folder.parent)
    if not folder.exists():
        with _alone(folder):
            _remove_attempts(folder)
            if not folder.exists():
                _build(store, codes, folder)
    _check_own(folder)
    return SentenceStore(folder)


def has_copy(fingerprint: str) -> bool:
    """Tell whether this machine has a copy of a run's store."""
    return _copy(fingerprint).exists()


def drop_sentences(fingerprint: str) -> None:
    """Remove this machine's copy of a run's store, and what is left of attempts at it; what is not ours stays."""
    folder = _copy(fingerprint)
    if not folder.parent.exists() or not _is_own(folder.parent):
        return
    with _alone(folder):
        _remove_attempts(folder)
        shutil.rmtree(folder, ignore_errors=True)
        _lock_file(folder).unlink(missing_ok=True)


def _build(store: Store, codes: str, folder: Path) -> None:
    attempt = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:12]}"
    attempt.mkdir()
    try:
        build_copy(store, codes, attempt)
        attempt.rename(folder)
    finally:
        shutil.rmtree(attempt, ignore_errors=True)


def _remove_attempts(folder: Path) -> None:
    """Remove what processes have left that were killed over it; to be called alone."""
    for attempt in folder.parent.glob(f".{folder.name}.*"):
        if attempt != _lock_file(folder):
            shutil.rmtree(attempt, ignore_errors=True)


def _copy(fingerprint: str) -> Path:
    """Return where this machine's copy lies: below ATLAS_CACHE or the temporary folder, under the user's number."""
    base = os.environ.get("ATLAS_CACHE") or tempfile.gettempdir()
    return Path(base) / f"neuron-atlas-{os.getuid()}" / f"{fingerprint[:32]}-{SCHEMA_VERSION}-{_LAYOUT}"


def _lock_file(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.lock"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes of this machine from making or removing the copy meanwhile; a dead one keeps nobody."""
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
    """Tell whether an open file is still that of its path: who removes the copy removes this file too."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _check_private(folder: Path) -> None:
    """Make the folder of the copies, for this user alone.

    Raises:
        InputError: none can be made there, or it is somebody else's: its content is not to be trusted.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        why = f"no folder can be made there ({one_line(error.strerror or error)})"
        raise InputError(f"{folder.parent}: {why}; set ATLAS_CACHE to another place for local copies") from error
    _check_own(folder)


def _check_own(folder: Path) -> None:
    """See to it that a folder is this user's and open to nobody else.

    Raises:
        InputError: it is somebody else's, or no folder.
    """
    if not _is_own(folder):
        raise InputError(f"{folder}: does not belong to you; set ATLAS_CACHE to another place for local copies")
    if folder.lstat().st_mode & 0o077:
        folder.chmod(0o700)


def _is_own(folder: Path) -> bool:
    found = folder.lstat()
    return found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
