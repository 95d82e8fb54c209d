import os
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.storage import small_files
from ops.storage.small_files import read_small_file


def test_a_small_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("é\r\nb".encode())
    assert read_small_file("--words", str(path)) == "é\r\nb"


def test_what_is_no_small_file_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "MOST_MB", 1)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"a" * 1_000_001)
    (tmp_path / "latin").write_bytes(b"\xe9")
    (tmp_path / "loop").symlink_to("loop")
    for name, why in {
        "pipe": "a pipe or a device; write it to a file first",
        "/dev/zero": "a pipe or a device",
        "large": "larger than 1 MB",
        "latin": "'utf-8' codec can't decode byte",
        "loop": "Too many levels of symbolic links",
        "none": "No such file or directory",
        ".": "Is a directory",
        "nul\0": "embedded null byte",
    }.items():
        with pytest.raises(InputError) as found:
            read_small_file("--words", str(tmp_path / name))
        assert str(found.value).startswith(f"--words {tmp_path / name}: cannot be read (")
        assert why in str(found.value)
