"""A read-only view of a run's folder."""

import errno
import os
import shutil
import uuid
from collections.abc import Callable

from ops.errors import InputError
from ops.storage.store import Store

# The errors of file systems that cannot create unnamed files; the folder's permissions are checked instead.
_UNNAMED_NOT_KNOWN = (errno.EISDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOENT)


class ReadOnlyStore(Store):
    """A store that is only read: a deleted file is hidden from this store's reader only, and a commit is an error."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self._deleted: set[str] = set()
        self._nowhere = f".deleted-{uuid.uuid4().hex}"

    def path(self, name: str) -> str:
        """Return the full path of `name`; for a deleted file this is a path that does not exist."""
        gone = any(name == deleted or name.startswith(f"{deleted}/") for deleted in self._deleted)
        return super().path(f"{self._nowhere}/{name}" if gone else name)

    def delete(self, name: str) -> None:
        """Treat a file, or a folder with all its content, as deleted."""
        self._deleted.add(name)

    def commit_several(self, names: dict[str, str], write: Callable[[dict[str, str]], object]) -> None:
        """Refuse to write.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(f"{', '.join(names.values())}: would be written, but this store is read-only")

    def check_writable(self) -> None:
        """Check whether the folder could be written or created; a folder that is not local is not checked.

        Raises:
            InputError: the folder could not be written or created.
        """
        if not self.local:
            return
        folder = self.root
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        why = _why_not_writable(folder)
        if why:
            raise InputError(f"--out {self.uri}: cannot be written ({os.strerror(why)}); name a writable folder")


def _why_not_writable(folder: str) -> int:
    """Return the error number that creating a file in a folder would raise, or 0 for none; nothing is changed."""
    if hasattr(os, "O_TMPFILE"):
        try:
            # An unnamed file does not change even the folder's modification time.
            os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
        except OSError as error:
            if error.errno not in _UNNAMED_NOT_KNOWN:
                return error.errno or errno.EACCES
        else:
            return 0
    if not os.path.isdir(folder):
        return errno.ENOTDIR
    if not os.access(folder, os.W_OK | os.X_OK):
        return errno.EACCES
    # The kernel's virtual folders, such as /proc, have no size and cannot be written.
    return 0 if shutil.disk_usage(folder).total else errno.ENOENT
