import gzip
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.sources.csv import read_csv
from ops.sources.pieces import check_source, pieces, read_piece
from ops.sources.rows import Broken, Row
from ops.sources.source import Reading
from ops.sources.spec import parse_source
from tests.unit.sources.files import read, write


def test_cells_stay_as_written(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv",
        'text,doc_id,zip,flag\n"a, ""b""\nc",7,007,TRUE\r\nplain,,1e3,\n,d,x,y\n"  ",d,x,y\n\n',
    )
    assert list(read(read_csv, path)) == [
        Row('a, "b"\nc', "7", {"zip": "007", "flag": "TRUE"}),
        Row("plain", "a.csv:1", {"zip": "1e3"}),
        Broken("", "d", "empty"),
        Broken("", "d", "empty"),
        Broken("", "a.csv:4", "empty"),
    ]
    path = write(tmp_path / "a.csv", "\ufefftext,review\nx,y\n")
    assert list(read(read_csv, path, text_column="review")) == [Row("y", "a.csv:0", {"text": "x"})]


def test_what_is_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"text,m,doc_id\n\xffa,b,\nc,\xff,\nd\0,e,\na,x,M\xfcnch\nb,x,M\xf6nch\n")
    assert list(read(read_csv, path)) == [
        Broken("\ufffda", "a.csv:0", "invalid_text"),
        Broken("c", "a.csv:1", "invalid_text"),
        Broken("d\ufffd", "a.csv:2", "invalid_text"),
        Broken("a", "M\ufffdnch", "invalid_text"),
        Broken("b", "M\ufffdnch", "invalid_text"),
    ]


def test_a_quote_that_is_not_closed_is_reported_with_the_lines_that_it_takes_in(tmp_path: Path) -> None:
    lines = [f"sentence {i}" for i in range(150)]
    lines[20] = f'"{lines[20]}'
    path = write(tmp_path / "a.csv", "\n".join(["text", *lines]) + "\n")
    rows = list(read(read_csv, path, on_error="reject"))
    assert rows[:20] == [Row(f"sentence {i}", f"a.csv:{i}", {}) for i in range(20)]
    (last,) = rows[20:]
    assert isinstance(last, Broken)
    assert (last.doc_id, last.reason) == ("a.csv:20 (lines 22 to 151)", "broken")
    assert last.text == "\n".join(lines[20:])[:200]
    with pytest.raises(InputError, match=r"a\.csv: row 20 \(lines 22 to 151\): unexpected end of data; repair"):
        list(read(read_csv, path))


def test_a_quote_that_another_closes_takes_in_no_more_than_the_lines_between(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'text,m\na,1\n"b,2\nc "x" d,3\ne,4\n')
    assert list(read(read_csv, path, on_error="reject")) == [
        Row("a", "a.csv:0", {"m": "1"}),
        Broken('"b,2\nc "x" d,3', "a.csv:1 (lines 3 to 4)", "broken"),
        Row("e", "a.csv:2", {"m": "4"}),
    ]


def test_other_delimiters_are_found_by_the_text_column_or_given(tmp_path: Path) -> None:
    rows = [Row("one, two", "d", {"a": "x"})]
    for mark in ";\t|":
        content = f'text{mark}a{mark}doc_id\n"one, two"{mark}x{mark}d\n'
        assert list(read(read_csv, write(tmp_path / "a.csv", content))) == rows
        assert list(read(read_csv, write(tmp_path / "a.csv", content), delimiter=mark)) == rows
    assert list(read(read_csv, write(tmp_path / "a.tsv", "text\ta\tdoc_id\none, two\tx\td\n"))) == rows
    assert list(read(read_csv, write(tmp_path / "a.tsv", "text,a\tb\nx;y\tz\n"), text_column="text,a")) == [
        Row("x;y", "a.tsv:0", {"b": "z"})
    ]
    assert list(read(read_csv, write(tmp_path / "a.csv", "text^a\nb^c\n"), delimiter="^")) == [
        Row("b", "a.csv:0", {"a": "c"})
    ]
    # A comma that makes a column of the text comes first, and one column of text needs no delimiter.
    assert list(read(read_csv, write(tmp_path / "a.csv", "text,a;b\nc,d;e\n"))) == [Row("c", "a.csv:0", {"a;b": "d;e"})]
    assert list(read(read_csv, write(tmp_path / "a.csv", "text\nc;d|e\n"))) == [Row("c;d|e", "a.csv:0", {})]


def test_a_refusal_names_the_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "body;author\nhello;me\n")
    with pytest.raises(InputError, match=r"'body', 'author' \(between ';'; --delimiter names another\)"):
        list(read(read_csv, path))
    for content in ("text;author\na;b\n", "text\na\n"):
        source = parse_source(write(tmp_path / "a.csv", content), Reading(delimiter="|"))
        with pytest.raises(InputError, match=r"a\.csv: --delimiter '\|' gives one column, 'text"):
            check_source(source)
    (piece,) = pieces(parse_source(write(tmp_path / "a.csv", "text^a\nb^c\n"), Reading(delimiter="^")))
    assert list(read_piece(piece)) == [Row("b", "a.csv:0", {"a": "c"})]


@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", b"text;m\ra;b\r"), ("a.csv.gz", gzip.compress(b"text;m\n", mtime=0)[:14])]
)
def test_a_header_that_cannot_be_read_is_refused_with_a_delimiter_too(
    tmp_path: Path, name: str, content: bytes
) -> None:
    source = parse_source(write(tmp_path / name, content), Reading(delimiter=";"))
    with pytest.raises(InputError, match=rf"{name}: the header line cannot be read"):
        check_source(source)


def test_the_delimiter_of_a_file_that_breaks_off_is_found(tmp_path: Path) -> None:
    lines = ["id;text\n", *(f"{i};Row {i}\n" for i in range(900))]
    content = gzip.compress("".join(lines).encode())
    source = parse_source(write(tmp_path / "a.csv.gz", content[: len(content) // 2]))
    check_source(source)
    *rows, last = read_piece(pieces(source)[0], on_error="reject")
    assert isinstance(last, Broken)
    assert [row.text for row in rows] == [f"Row {i}" for i in range(len(rows))] != []


def test_an_unusable_header(tmp_path: Path) -> None:
    wrong = {
        b"": "is empty",
        b"a,b\n": "no column 'text'; it has 'a', 'b'; .*--text-column",
        b"text,a,a\n": "'a' occurs 2 times",
        b'"text': "header line cannot be read",
        b"text,M\xfcnch\n": "the column 'M\ufffdnch' is not UTF-8 in the header",
    }
    for content, message in wrong.items():
        with pytest.raises(InputError, match=rf"a\.csv: .*{message}"):
            list(read(read_csv, write(tmp_path / "a.csv", content), on_error="reject"))


@pytest.mark.parametrize(
    ("content", "place", "kept"),
    [
        ("text,m\na,b\nc\nd,e\n", r"row 1 \(line 3\): 1 cells, the header has 2", ["a", "d"]),
        ("text,m\na,b\nc,d,e\nd,e\n", r"row 1 \(line 3\): 3 cells", ["a", "d"]),
        ('text,m\n"a\na",b\n"c"x,d\nd,e\n', r"row 1 \(line 4\)", ["a\na", "d"]),
        ('text,m\na,b\n"c,d\nd,e\n', r"row 1 \(lines 3 to 4\)", ["a"]),
    ],
)
def test_a_broken_row_fails_or_is_recorded(tmp_path: Path, content: str, place: str, kept: list[str]) -> None:
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(InputError, match=rf"a\.csv: {place}.*--on-error reject"):
        list(read(read_csv, path))
    rows = list(read(read_csv, path, on_error="reject"))
    assert [row.text for row in rows if isinstance(row, Row)] == kept
    (found,) = [row for row in rows if isinstance(row, Broken)]
    assert (found.doc_id.split()[0], found.reason) == ("a.csv:1", "broken")
    assert [row.doc_id.split()[0] for row in rows] == [f"a.csv:{number}" for number in range(len(rows))]
