"""Reads a large file's bytes block by block, with several requests at the same time."""

from collections.abc import Iterator

from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.streams import open_seekable

BLOCK = 1 << 24  # bytes; a smaller request to object storage takes about the same time


def read_blocks(path: str, size: int = BLOCK) -> Iterator[bytes]:
    """Yield a file's bytes in blocks of `size`, in order; the last block may be shorter.

    Several blocks are read at the same time. If each block waited for the previous one, reading a file of 10 GB from
    object storage would take minutes.

    Raises:
        InputError: the file cannot be opened.
    """
    with open_seekable(path) as file:
        starts = range(0, file.size(), size)
        yield from side_by_side(lambda start: file.read_at(size, start), starts, LARGE_FILES_AT_ONCE)
