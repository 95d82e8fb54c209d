"""A run's folder as one sees it who must not touch it."""

import errno
import os
import shutil
import uuid
from collections.abc import Callable

from ops.errors import InputError
from ops.storage.store import Store

# What a file system says that makes no file without a name; then its permissions are asked.
_UNNAMED_NOT_KNOWN = (errno.EISDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOENT)


class ReadOnlyStore(Store):
    """A store that is read alone: what is deleted is gone for its own reader, and a commit is an error."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self._deleted: set[str] = set()
        self._nowhere = f".deleted-{uuid.uuid4().hex}"

    def path(self, name: str) -> str:
        """Return the full path of `name`; of what was deleted one where nothing is."""
        gone = any(name == deleted or name.startswith(f"{deleted}/") for deleted in self._deleted)
        return super().path(f"{self._nowhere}/{name}" if gone else name)

    def delete(self, name: str) -> None:
        """Take a file, or a folder with all it holds, for deleted."""
        self._deleted.add(name)

    def commit_several(self, names: dict[str, str], write: Callable[[dict[str, str]], None]) -> None:
        """Refuse to write.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(f"{', '.join(names.values())}: would be written, but this store is read-only")

    def check_writable(self) -> None:
        """Ask whether the folder could be written, or made; of what is not local nothing is known without trying.

        Raises:
            InputError: it could not.
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
    """Return the error number for which no file can be made in a folder, 0 where one can; nothing is changed."""
    if hasattr(os, "O_TMPFILE"):
        try:
            # A file without a name: not even the folder's time changes.
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
    # Folders of the kernel, such as /proc, have no size.
    return 0 if shutil.disk_usage(folder).total else errno.ENOENT
