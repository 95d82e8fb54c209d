"""A read-only view of a run's folder."""

import errno
import os
import shutil
import uuid
from collections.abc import Callable

from ops.errors import InputError
from ops.storage.store import Store


class ReadOnlyStore(Store):
    """A store that is only read: a deleted file is hidden from this store's reader only, and a commit is an error."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self._deleted: set[str] = set()
        self._nowhere = f".deleted-{uuid.uuid4().hex}"

    def path(self, name: str) -> str:
        """Return the full path of `name`; for a deleted file this is a path that does not exist."""
        path = super().path(name)
        gone = any(path == deleted or path.startswith(f"{deleted}/") for deleted in self._deleted)
        return super().path(f"{self._nowhere}/{name}") if gone else path

    def delete(self, name: str) -> None:
        """Treat a file, or a folder with all its content, as deleted."""
        self._deleted.add(super().path(name))

    def commit_several(self, names: dict[str, str], write: Callable[[dict[str, str]], object]) -> None:
        """Refuse to write."""
        raise RuntimeError(f"{', '.join(names.values())}: would be written, but this store is read-only")

    def check_writable(self) -> None:
        """Check whether the folder could be written or created; a folder that is not local is not checked."""
        if not self.local:
            return
        folder = self.existing_folder()
        why = 0 if os.access(folder, os.W_OK | os.X_OK) else errno.EACCES
        if not os.path.isdir(folder):
            why = errno.ENOTDIR
        elif not shutil.disk_usage(folder).total:  # the kernel's virtual folders, such as /proc, cannot be written
            why = errno.ENOENT
        if why:
            raise InputError(f"--out {self.uri}: cannot be written ({os.strerror(why)}); name a writable folder")
