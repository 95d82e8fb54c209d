"""What every reader of files does with the same dirt."""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.errors import InputError
from ops.sources.pieces import check_source, pieces, read_piece
from ops.sources.rows import Broken, OnError, Row
from ops.sources.spec import parse_source

TEXTS = [f"Sentence {number} {random.Random(number).randbytes(40).hex()}." for number in range(3000)]
FORMATS = ["txt", "csv.gz", "jsonl.zst", "parquet"]
COMPRESSED = {"gz": gzip.compress, "zst": lambda content: pa.compress(content, "zstd", asbytes=True)}


def _encoded(texts: list[str], kind: str) -> bytes:
    if kind == "txt":
        return "".join(text + "\n" for text in texts).encode()
    if kind == "jsonl":
        return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    stream = io.StringIO()
    csv.writer(stream).writerows([["text"], *([text] for text in texts)])
    return stream.getvalue().encode()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, list[str]], Path]:
    """Write texts as a file of a format, compressed where its name says so."""

    def make(suffix: str, texts: list[str]) -> Path:
        path = tmp_path / f"a.{suffix}"
        if suffix == "parquet":
            pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), path)
            return path
        kind, _, method = suffix.partition(".")
        content = _encoded(texts, kind)
        path.write_bytes(content if not method else COMPRESSED[method](content))
        return path

    return make


def _read(path: Path, on_error: OnError = "fail") -> list[Row | Broken]:
    return [row for piece in pieces(parse_source(str(path))) for row in read_piece(piece, on_error=on_error)]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_row_of_ten_megabytes(write: Callable[..., Path], suffix: str) -> None:
    long = "word " * 2_000_000 + "end"
    path = write(suffix, ["Before.", long, "After."])
    check_source(parse_source(str(path)))
    assert [row.text for row in _read(path)] == ["Before.", long, "After."]


@pytest.mark.parametrize("suffix", ["txt.gz", "csv.gz", "jsonl.zst"])
def test_a_compressed_source_that_breaks_off_fails_by_name_or_goes_as_far_as_it_is_whole(
    write: Callable[..., Path], suffix: str
) -> None:
    path = write(suffix, TEXTS)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 4 // 5])
    (piece,) = pieces(parse_source(str(path)))
    with pytest.raises(InputError, match=rf"a\.{suffix}: .*--on-error reject"):
        list(read_piece(piece))
    *rows, last = read_piece(piece, on_error="reject")
    assert isinstance(last, Broken)
    assert last.reason == "broken"
    assert 1000 < len(rows) < 3000
    assert [row.text for row in rows] == TEXTS[: len(rows)]
    assert last.doc_id == f"a.{suffix}:{len(rows)}"


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_source_without_rows(write: Callable[..., Path], suffix: str) -> None:
    path = write(suffix, [])
    check_source(parse_source(str(path)))
    assert _read(path) == []
