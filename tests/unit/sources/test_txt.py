import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from ops.errors import InputError
from ops.sources.lines import BrokenStream, read_lines
from ops.sources.rows import Broken, Row
from ops.sources.text import read_txt
from tests.unit.sources.files import read, write


def test_lines_are_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\ntwo\n\n\xff bad\nthree \xc3\xa9")
    assert list(read(read_txt, path)) == [
        Row("one", "a.txt:0", {}),
        Row("two", "a.txt:1", {}),
        Broken("", "a.txt:2", "empty"),
        Broken("\ufffd bad", "a.txt:3", "invalid_text"),
        Row("three é", "a.txt:4", {}),
    ]
    assert next(iter(read(read_txt, path, name="x/a.txt"))).doc_id == "x/a.txt:0"
    for content in (b"", b"\xef\xbb\xbf"):
        assert list(read(read_txt, write(tmp_path / "a.txt", content))) == []
    marked = list(read(read_txt, write(tmp_path / "a.txt", b"\xef\xbb\xbf\nb\n")))
    assert marked == [Broken("", "a.txt:0", "empty"), Row("b", "a.txt:1", {})]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt: no such file"):
        list(read(read_txt, str(tmp_path / "none.txt")))


LINES = b"".join(b"line %d\n" % number for number in range(50_000))


def _compressed(suffix: str, content: bytes) -> bytes:
    return gzip.compress(content) if suffix == ".gz" else pa.Codec("zstd").compress(content, asbytes=True)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_lines_also_in_several_frames(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a.txt{suffix}", _compressed(suffix, LINES) + _compressed(suffix, b"last"))
    rows = list(read(read_txt, path))
    assert len(rows) == 50_001
    assert rows[-1] == Row("last", f"a.txt{suffix}:50000", {})
    path = write(tmp_path / f"a.txt{suffix}", b"plain text\n")
    assert list(read(read_txt, path, on_error="reject")) == [Broken("", f"a.txt{suffix}:0", "broken")]


def test_a_line_without_end_is_taken_for_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.sources.lines.ROW_BYTES", 10)
    lines = read_lines(write(tmp_path / "a.txt", b"short\n" + b"x" * 50))
    assert next(lines) == b"short\n"
    with pytest.raises(BrokenStream, match="a line of more than 10 bytes"):
        next(lines)
