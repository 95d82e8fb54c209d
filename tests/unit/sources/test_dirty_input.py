"""What every reader of files does with the same dirt."""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.errors import InputError
from ops.sources.pieces import check_source, pieces, read_piece
from ops.sources.rows import Broken, OnError, Row
from ops.sources.source_format import Piece
from ops.sources.spec import parse_source

TEXTS = [f"Sentence {number} {random.Random(number).randbytes(40).hex()}." for number in range(3000)]
FORMATS = ["txt", "csv", "jsonl", "txt.gz", "csv.gz", "jsonl.gz", "txt.zst", "csv.zst", "jsonl.zst", "parquet"]


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
            pq.write_table(
                pa.table({"text": pa.array(texts, pa.string())}), path, row_group_size=500, use_dictionary=False
            )
            return path
        kind, _, method = suffix.partition(".")
        content = _encoded(texts, kind)
        if method == "gz":
            content = gzip.compress(content, mtime=0)
        elif method == "zst":
            content = pa.compress(content, "zstd", asbytes=True)
        path.write_bytes(content)
        return path

    return make


def _piece(path: Path) -> Piece:
    (piece,) = pieces(parse_source(str(path)))
    return piece


def _read(path: Path, on_error: OnError = "fail") -> list[Row | Broken]:
    return [row for piece in pieces(parse_source(str(path))) for row in read_piece(piece, on_error=on_error)]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_row_of_ten_megabytes(write: Callable[..., Path], suffix: str) -> None:
    long = "word " * 2_000_000 + "end"
    path = write(suffix, ["Before.", long, "After."])
    check_source(parse_source(str(path)))
    assert [row.text for row in _read(path)] == ["Before.", long, "After."]


@pytest.mark.parametrize("suffix", [name for name in FORMATS if "." in name])
def test_a_compressed_source_that_breaks_off_fails_by_name_or_goes_as_far_as_it_is_whole(
    write: Callable[..., Path], suffix: str
) -> None:
    path = write(suffix, TEXTS)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 4 // 5])
    piece = _piece(path)
    with pytest.raises(InputError, match=rf"a\.{suffix}: .*--on-error reject"):
        list(read_piece(piece))
    *rows, last = read_piece(piece, on_error="reject")
    assert isinstance(last, Broken)
    assert last.reason == "broken"
    assert 1000 < len(rows) < 3000
    assert [row.text for row in rows] == TEXTS[: len(rows)]


def test_a_parquet_source_with_a_broken_middle_goes_on_behind_it(write: Callable[..., Path]) -> None:
    path = write("parquet", TEXTS)
    column = pq.read_metadata(path).row_group(2).column(0)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset : column.data_page_offset + column.total_compressed_size] = b"\xff" * (
        column.total_compressed_size
    )
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.parquet: row group 2 \(rows 1000 to 1499\)"):
        _read(path)
    rows = _read(path, "reject")
    assert [row.doc_id for row in rows] == [f"a.parquet:{number}" for number in range(3000)]
    assert [number for number, row in enumerate(rows) if isinstance(row, Broken)] == list(range(1000, 1500))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_source_without_rows(write: Callable[..., Path], suffix: str) -> None:
    path = write(suffix, [])
    check_source(parse_source(str(path)))
    assert _read(path) == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_of_no_bytes(write: Callable[..., Path], suffix: str) -> None:
    path = write(suffix, [])
    path.write_bytes(b"")
    if suffix.startswith(("csv", "parquet")):
        with pytest.raises(InputError, match=rf"a\.{suffix}: the file is empty"):
            check_source(parse_source(str(path)))
    else:
        assert _read(path) == []


def test_a_column_whose_type_changes_from_row_to_row(tmp_path: Path) -> None:
    values: list[Any] = ["x", 1, 1.5, True, None, [1], {"a": {"b": 1}}, "", 10**30]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": "A text.", "v": value}) + "\n" for value in values))
    metas = [row.meta for row in _read(path) if isinstance(row, Row)]
    assert metas == [{"v": v} for v in ("x", "1", "1.5", "true")] + [{}] * 3 + [{"v": ""}, {"v": str(10**30)}]
    path.write_text("".join(json.dumps({"text": value}) + "\n" for value in values))
    assert [row.reason if isinstance(row, Broken) else row.text for row in _read(path)] == [
        *("x", "invalid_text", "invalid_text", "invalid_text", "empty"),
        *("invalid_text", "invalid_text", "empty", "invalid_text"),
    ]


def test_nested_columns_are_left_out(tmp_path: Path) -> None:
    nested: dict[str, Any] = {"list": [1], "struct": {"text": "no"}, "deep": [{"a": [{"b": "c"}]}], "map": [["k", 1]]}
    jsonl, parquet = tmp_path / "a.jsonl", tmp_path / "b.parquet"
    jsonl.write_text(json.dumps({"text": "A text.", **nested, "n": 1}) + "\n")
    columns = {name: pa.array([value]) for name, value in nested.items() if name != "map"}
    columns["map"] = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    pq.write_table(pa.table({"text": ["A text."], **columns, "n": [1]}), parquet)
    for path in (jsonl, parquet):
        assert _read(path) == [Row("A text.", f"{path.name}:0", {"n": "1"})]


def test_lone_surrogates_in_every_form(tmp_path: Path) -> None:
    escaped, raw, latin = tmp_path / "a.jsonl", tmp_path / "b.txt", tmp_path / "c.csv"
    escaped.write_bytes(b'{"text": "a \\udc80 b"}\n{"text": "\\ud83d"}\n{"text": "\\ud83d\\ude00 fine"}\n')
    raw.write_bytes(b"a \xed\xb2\x80 b\nfine\n")
    latin.write_bytes(b"text,m\ncaf\xe9,x\nfine,caf\xe9\n")
    assert [type(row) for row in _read(escaped)] == [Broken, Broken, Row]
    assert [type(row) for row in _read(raw)] == [Broken, Row]
    assert _read(latin)[1] == Broken("fine", "c.csv:1", "invalid_text")
    for path in (escaped, raw, latin):
        for row in _read(path):
            row.text.encode()
