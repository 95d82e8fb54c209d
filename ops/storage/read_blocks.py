"""A large file's bytes block by block, several of which are asked for at once."""

from collections.abc import Iterator

from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.streams import open_seekable

BLOCK = 1 << 24  # bytes: object storage answers a smaller request in about the same time


def read_blocks(path: str, size: int = BLOCK) -> Iterator[bytes]:
    """Return a file's bytes in blocks of `size`, in order; the last may be shorter.

    Some blocks are read side by side. One after another each would wait for object storage, so that a file of 10 GB
    would take minutes.

    Raises:
        InputError: the file cannot be opened.
    """
    with open_seekable(path) as file:
        starts = range(0, file.size(), size)
        yield from side_by_side(lambda start: file.read_at(size, start), starts, LARGE_FILES_AT_ONCE)
