"""The columns that a source can have are those that its rows have, known before they are read."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.sources.pieces import missing_column, pieces, read_piece, source_fingerprint
from ops.sources.rows import Row
from ops.sources.source import Source
from ops.sources.spec import parse_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("doc_id,text,topic,\n1,One.,x,y\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("text,year\nTwo.,1999\n", encoding="utf-8")
    (tmp_path / "c.txt").write_text("Three.\n", encoding="utf-8")
    (tmp_path / "d.jsonl").write_text('{"text": "Four."}\n{"text": "Five.", "late": 1}\n', encoding="utf-8")
    rows = {"text": ["Six."], "doc_id": [b"6"], "list": [[1]], "bytes": [b"x"], "size": [7], "day": ["Monday"]}
    pq.write_table(pa.table(rows), tmp_path / "e.parquet")
    return tmp_path


def keys_of_rows(source: Source, text_column: str = "text") -> set[str]:
    rows = (row for piece in pieces(source) for row in read_piece(piece, text_column))
    return {key for row in rows if isinstance(row, Row) for key in row.meta}


@pytest.mark.parametrize("names", ["a.csv", "*.csv", "c.txt", "e.parquet"])
def test_the_columns_that_there_are_are_those_of_the_rows(folder: Path, names: str) -> None:
    source = parse_source(str(folder / names))
    found = missing_column([source], "none")
    assert found is not None
    assert set(found) == keys_of_rows(source)
    for column in found:
        assert missing_column([source], column) is None
    # What is text, a document or no scalar is no metadata.
    for column in ("text", "doc_id", "list", "bytes"):
        assert missing_column([source], column) == found


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("txt", "One.\n"),
        ("csv", "text,day\nOne.,\nTwo.,Monday\n"),
        ("jsonl", '{"text": "One."}\n{"text": "Two.", "day": "Monday"}\n'),
        ("parquet", ""),
    ],
)
def test_keys_in_the_names_of_folders_are_metadata(tmp_path: Path, suffix: str, content: str) -> None:
    for lang in ("en", "de"):
        path = tmp_path / f"lang={lang}" / "day=1%2F2" / "none=__HIVE_DEFAULT_PARTITION__" / f"part.{suffix}"
        path.parent.mkdir(parents=True)
        path.write_text(content)
        if suffix == "parquet":
            pq.write_table(pa.table({"text": ["One.", "Two."], "day": [None, "Monday"]}), path)
    source = parse_source(f"{tmp_path}/lang=*/**/*.{suffix}")
    rows = [row for piece in pieces(source) for row in read_piece(piece)]
    # A value in the file itself comes before that of a folder.
    days = ["1/2"] if suffix == "txt" else ["1/2", "Monday"]
    assert [row.meta for row in rows if isinstance(row, Row)] == [
        {"lang": lang, "day": day} for lang in ("de", "en") for day in days
    ]
    assert missing_column([source], "lang") is None
    if suffix != "jsonl":
        assert sorted(missing_column([source], "none") or []) == ["day", "lang"]
    (tmp_path / "lang=de").rename(tmp_path / "lang=fr")
    names = ("lang=en", "lang=fr")
    one, other = (source_fingerprint(parse_source(f"{tmp_path}/{name}/**/*.{suffix}")) for name in names)
    assert one != other


@pytest.mark.parametrize("suffix", ["txt", "csv", "jsonl", "parquet"])
def test_a_folder_names_the_document_of_rows_without_one(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "doc_id=7" / f"part.{suffix}"
    path.parent.mkdir()
    table = pa.table({"text": ["One.", "Two."], "doc_id": pa.array([None, "own"])})
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        lines = {"txt": "One.\nTwo.\n", "csv": "text,doc_id\nOne.,\nTwo.,own\n"}
        path.write_text(lines.get(suffix, "".join(json.dumps(row) + "\n" for row in table.to_pylist())))
    source = parse_source(str(path))
    assert [row for piece in pieces(source) for row in read_piece(piece)] == [
        Row("One.", "7", {}),
        Row("Two.", "7" if suffix == "txt" else "own", {}),
    ]
    assert missing_column([source], "none") == (None if suffix == "jsonl" else [])


def test_another_column_holds_the_text(folder: Path) -> None:
    source = parse_source(str(folder / "e.parquet"))
    assert missing_column([source], "day", "day") == ["text", "size"]
    assert keys_of_rows(source, "day") == {"size", "text"}


def test_one_source_that_has_it_or_may_have_it_is_enough(folder: Path) -> None:
    names = ("a.csv", "c.txt", "e.parquet", "d.jsonl")
    table, text, parquet, lines = (parse_source(str(folder / name)) for name in names)
    assert missing_column([table, text, parquet], "none") == ["topic", "unnamed_3", "size", "day"]
    assert missing_column([table, text, parquet], "size") is None
    assert missing_column([text], "size") == []
    # A key of a line is known once the line is read.
    assert missing_column([table, lines], "late") is None
    assert missing_column([parse_source("hf:some/set")], "none") is None


def test_docstrings_have_what_their_rows_have() -> None:
    (piece, *_) = pieces(parse_source("pydocs"))
    row = next(row for row in read_piece(piece) if isinstance(row, Row))
    assert missing_column([parse_source("pydocs")], "none") == list(row.meta)
