import gzip
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.sources import text as text_reader
from ops.sources.pieces import check_source, pieces, read_piece
from ops.sources.rows import Broken, Row
from ops.sources.source import Reading
from ops.sources.spec import parse_source
from ops.sources.text import read_document
from tests.unit.sources.files import read, write

WHOLE = Reading(documents=True)
CODE = "def f():\r\n\treturn 1\n\n\n"


def test_any_file_of_text_is_one_document_with_its_white_space(tmp_path: Path) -> None:
    for name in ("a.py", "b.md", "c", "d.txt", "e.py.gz"):
        write(tmp_path / "in" / name, gzip.compress(CODE.encode()) if name.endswith(".gz") else CODE)
    write(tmp_path / "in" / "f.png", b"\x89PNG\0\0\0\0\0\0")
    write(tmp_path / "in" / "g.py", "")
    source = parse_source(f"{tmp_path}/in/*", WHOLE)
    check_source(source)
    rows = [row for piece in pieces(source) for row in read_piece(piece)]
    assert rows[:-1] == [Row(CODE, name, {}) for name in ("a.py", "b.md", "c", "d.txt", "e.py.gz")]
    assert (rows[-1].doc_id, isinstance(rows[-1], Broken)) == ("f.png", True)


def test_records_stay_records_and_are_not_mixed_with_documents(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"text": "a  b"}\n')
    write(tmp_path / "a.py", CODE)
    (piece,) = pieces(parse_source(f"{tmp_path}/a.jsonl", WHOLE))
    assert list(read_piece(piece)) == [Row("a  b", "a.jsonl:0", {})]
    with pytest.raises(InputError, match=r"files of several kinds \(document, jsonl\)"):
        parse_source(f"{tmp_path}/*", WHOLE)
    with pytest.raises(InputError, match=r"a\.py has a suffix of no known kind"):
        parse_source(f"{tmp_path}/a.py")


def test_a_long_document_is_cut_at_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_reader, "_MOST_CHARACTERS", 12)
    text = "one two\nthree\nfour five six seven\n"
    rows = list(read(read_document, write(tmp_path / "a.txt", text)))
    assert [row.text for row in rows] == ["one two\n", "three\n", "four five si", "x seven\n"]
    assert {row.doc_id for row in rows} == {"a.txt"}


def test_damage_is_named(tmp_path: Path) -> None:
    data = gzip.compress(bytes(range(32, 127)) * 5_000, compresslevel=1)
    path = write(tmp_path / "a.py.gz", data[: len(data) // 2])
    *_, text, lost = read(read_document, path, on_error="reject")
    assert len(text.text) > 1_000
    assert lost == Broken("", "a.py.gz", "broken")
    with pytest.raises(InputError, match=r"a\.py\.gz: at its end: .*--on-error reject"):
        list(read(read_document, path))
