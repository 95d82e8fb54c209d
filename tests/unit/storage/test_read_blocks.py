import os
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.storage.read_blocks import read_blocks


def test_the_blocks_are_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a b#.txt"
    for size in (0, 1, 6, 7, 8, 70, 100):
        path.write_bytes(os.urandom(size))
        blocks = list(read_blocks(str(path), 7))
        assert b"".join(blocks) == path.read_bytes()
        assert [len(block) for block in blocks] == [7] * (size // 7) + [size % 7] * (size % 7 > 0)
        assert list(read_blocks(path.as_uri(), 7)) == blocks


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        list(read_blocks(str(tmp_path / "nowhere")))
