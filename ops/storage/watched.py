"""A stream that tells a failure of the storage from damage in what is stored."""

from __future__ import annotations

import io
from typing import cast

import pyarrow as pa


class Watched(io.RawIOBase):
    """Passes reads on and remembers the storage's own error, which pyarrow reports like damaged data."""

    def __init__(self, raw: pa.NativeFile) -> None:
        self.raw = raw
        self.failure: OSError | None = None

    def readable(self) -> bool:
        """True: it is for reading."""
        return True

    def seekable(self) -> bool:
        """Whether the raw stream can be read at any place."""
        return bool(self.raw.seekable())

    def tell(self) -> int:
        """The place in bytes."""
        return int(self.raw.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in bytes."""
        return int(self.raw.seek(offset, whence))

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes."""
        try:
            return cast(bytes, self.raw.read(None if size < 0 else size))
        except OSError as error:
            self.failure = error
            raise

    def reraise(self) -> None:
        """Raise the storage's error, if there was one."""
        if self.failure is not None:
            raise self.failure
