import os
import threading
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.storage import read_blocks as module
from ops.storage.read_blocks import read_blocks


def test_the_blocks_are_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a b#.txt"
    for size in (0, 1, 6, 7, 8, 70, 100):
        path.write_bytes(os.urandom(size))
        blocks = list(read_blocks(str(path), 7))
        assert b"".join(blocks) == path.read_bytes()
        assert [len(block) for block in blocks] == [7] * (size // 7) + [size % 7] * (size % 7 > 0)
        assert list(read_blocks(path.as_uri(), 7)) == blocks


def test_several_blocks_are_asked_for_before_the_first_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(2, timeout=30)

    class Slow:
        def __enter__(self) -> "Slow":
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def size(self) -> int:
            return 4

        def read_at(self, size: int, start: int) -> bytes:
            together.wait()  # answers two requests at once, and one alone never
            return b"abcd"[start : start + size]

    monkeypatch.setattr(module, "open_seekable", lambda path: Slow())
    assert list(read_blocks("s3://b/a", 1)) == [b"a", b"b", b"c", b"d"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        list(read_blocks(str(tmp_path / "nowhere")))
