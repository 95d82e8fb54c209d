import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from ops.errors import InputError, StorageError
from ops.storage.streams import (
    ErrorRecordingStream,
    expand_glob,
    file_size,
    locate,
    open_seekable,
    open_stream,
    read_blocks,
)


class Failing:
    """A raw stream whose storage fails."""

    def read(self, size: int | None) -> bytes:
        raise OSError("connection lost")


def test_the_storage_s_own_error_is_recorded_and_raised_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    whole = ErrorRecordingStream(open_seekable(str(tmp_path / "a")))
    assert (whole.seek(4), whole.read(3), whole.tell(), whole.read()) == (4, b"456", 7, b"789")
    whole.reraise()
    raw: Any = Failing()
    stream = ErrorRecordingStream(raw)
    with pytest.raises(OSError, match="connection lost"):
        stream.read(3)
    with pytest.raises(OSError, match="connection lost"):
        stream.reraise()


@pytest.mark.parametrize("opened", [open_stream, open_seekable, file_size])
def test_what_cannot_be_opened_is_named(tmp_path: Path, opened: Any) -> None:
    with pytest.raises(InputError, match=r"none\.txt: no such file") as found:
        opened(str(tmp_path / "none.txt"))
    assert not isinstance(found.value, StorageError)
    with pytest.raises(InputError, match="cannot be opened"):
        opened("strange://bucket/key")


def test_globs_are_sorted_and_leave_hidden_names_out(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", ".c.txt", "sub/d.txt", "e.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for root in (str(tmp_path), f"file://{tmp_path}"):
        found = expand_glob(f"{root}/*.txt")
        assert [name.rpartition("/")[2] for name in found] == ["a.txt", "b.txt"]
        assert [name.rpartition("/")[2] for name in expand_glob(f"{root}/**/*.txt")] == ["a.txt", "b.txt", "d.txt"]


@pytest.mark.parametrize("pattern", ["**", "a/**", "a*/**", "a/**/*.txt", "**/b/**"])
def test_a_uri_s_glob_finds_what_a_path_s_glob_finds(tmp_path: Path, pattern: str) -> None:
    for name in ("x.txt", "a.txt", "a/y.txt", "a/.z.txt", "a/b/z.txt", "a/.c/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [locate(uri)[1] for uri in expand_glob(f"{tmp_path.as_uri()}/{pattern}")]
    assert found == expand_glob(f"{tmp_path}/{pattern}")
    assert found


def test_google_s_storage_is_not_waited_for_longer_than_its_uri_says() -> None:
    for uri, seconds in (("gs://anonymous@b/x?scheme=https", 20), ("gs://b/x?retry_limit_seconds=7", 7)):
        system, path = locate(uri)
        assert path.startswith("b/x")
        assert f"seconds={seconds}" in repr(system.__reduce__())


def test_a_file_s_uri_leads_to_it_however_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "some folder"
    folder.mkdir()
    for name in ("a b.txt", "50%.txt", "x.txt", "#1.txt", "..txt"):
        (folder / name).write_text(name)
        system, path = locate(f"file://{quote(str(folder))}/{quote(name)}")
        assert path == str(folder / name)
        assert system.open_input_stream(path).read() == name.encode()


def test_files_of_a_folder_share_its_file_system_until_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    (first, one), (second, two) = locate("s3://bucket/folder/1.txt"), locate("s3://bucket/folder/2.txt")
    assert (one, two) == ("bucket/folder/1.txt", "bucket/folder/2.txt")
    assert first is second
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:2")
    assert locate("s3://bucket/folder/1.txt")[0] is not first
    assert locate("s3://bucket/folder/1.txt?region=eu-west-1")[0] is not first


def test_the_blocks_are_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a b#.txt"
    for size in (0, 1, 6, 7, 8, 70, 100):
        path.write_bytes(os.urandom(size))
        blocks = list(read_blocks(str(path), 7))
        assert b"".join(blocks) == path.read_bytes()
        assert [len(block) for block in blocks] == [7] * (size // 7) + [size % 7] * (size % 7 > 0)
        assert list(read_blocks(path.as_uri(), 7)) == blocks


def test_a_file_of_blocks_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        list(read_blocks(str(tmp_path / "nowhere")))
