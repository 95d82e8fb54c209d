import gzip
import json
import os
from collections import Counter
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.errors import InputError
from ops.sources import docstrings as pydocs
from ops.sources import source_format
from ops.sources.pieces import check_source, named_apart, piece_extent, pieces, read_piece, source_fingerprint
from ops.sources.rows import Row
from ops.sources.source import Piece
from ops.sources.source_format import line_ranges
from ops.sources.spec import parse_source
from tests.unit.sources.files import pieces_of, write

NAMES = [
    *("a\nb", "-dash", "a#b?c", "a%20b%", "[ab]*", "a:b=c", " a  b ", "a'b\"c", "a\\b\tc\r", "L" * 240),
    *("hf:x", "s3:", "{a,b}", "e\u0301", "~", "file:x", "pydocs"),
]


@pytest.mark.parametrize("suffix", [".txt", ".parquet"])
def test_a_file_of_any_name_is_read_named_directly_and_in_a_folder(tmp_path: Path, suffix: str) -> None:
    for number, name in enumerate(NAMES):
        path = tmp_path / str(number) / f"{name}{suffix}"
        write(path, b"One.\n")
        if suffix == ".parquet":
            pq.write_table(pa.table({"text": ["One."]}), str(path))
        for spec in (str(path), f"set={path}", f"{path.parent}/*{suffix}"):
            source = parse_source(spec)
            assert source.dataset == ("set" if spec.startswith("set=") else name), name
            check_source(source)
            (piece,) = pieces(source)
            assert [(row.text, row.doc_id) for row in read_piece(piece)] == [("One.", f"{path.name}:0")], name


def test_a_file_of_a_folder_whose_name_is_no_utf8_is_named(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.txt", "wb") as file:
        file.write(b"One.\n")
    with pytest.raises(InputError, match=r"\*\.txt: the name of .*\.txt: is not valid UTF-8"):
        parse_source(f"{tmp_path}/*.txt")


def test_files_of_one_name_have_documents_of_their_own(tmp_path: Path) -> None:
    for folder in ("x", "y/z"):
        write(tmp_path / folder / "a.txt")
    found = pieces(parse_source(str(tmp_path / "**" / "a.txt")))
    assert [(piece.name, piece.index) for piece in found] == [("x/a.txt", 0), ("y/z/a.txt", 1)]
    assert next(iter(read_piece(found[1]))).doc_id == "y/z/a.txt:0"


def test_a_uri_reads_like_its_path(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a b.csv"))
    table = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": ["x"]}), table)
    for file, row in ((path, Row("a", "a b.csv:0", {})), (table, Row("x", "t.parquet:0", {}))):
        source = parse_source(file.as_uri())
        check_source(source)
        (piece,) = pieces(source)
        assert list(read_piece(piece)) == [row]
        assert source_fingerprint(source) == source_fingerprint(parse_source(str(file)))


def test_runs_of_row_groups_give_the_rows_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = [None if number % 9 == 0 else f"text {number} " + "\0" * (number % 17 == 0) for number in range(100)]
    pq.write_table(pa.table({"text": texts, "doc_id": [None, "d"] * 50}), path, row_group_size=7)
    source, metadata = parse_source(str(path)), pq.read_metadata(path)
    (whole,) = pieces(source)
    rows = list(read_piece(whole, on_error="reject"))
    assert rows[1] == Row("text 1 ", "d", {})
    assert rows[98] == Row("text 98 ", "a.parquet:98", {})
    for groups, expected in ((1, 15), (3, 5), (4, 4), (15, 1)):
        size = sum(metadata.row_group(group).total_byte_size for group in range(groups))
        parts = pieces_of(source, size - 40)
        assert len(parts) == expected
        assert [part.index for part in parts] == list(range(len(parts)))
        assert all(Piece(**json.loads(json.dumps(asdict(part)))) == part for part in parts)
        assert [row for part in parts for row in read_piece(part, on_error="reject")] == rows
        assert sum(piece_extent(part) or 0 for part in parts) == 100
        if expected > 1:
            assert [part.part["first_group"] for part in parts[1:]] == [part.part["stop_group"] for part in parts[:-1]]


@pytest.mark.parametrize(("files", "least"), [(1, 20), (4, 8), (40, 1)])
def test_a_source_of_few_files_has_enough_pieces_for_all_to_end_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, least: int
) -> None:
    monkeypatch.setattr(source_format, "LEAST_BYTES", 100)
    for number in range(files):
        texts = [f"{number}-{row} ".ljust(30, "x") for row in range(200)]
        pq.write_table(pa.table({"text": texts}), tmp_path / f"{number:02}.parquet", row_group_size=5)
        write(tmp_path / f"{number:02}.txt", "".join(f"{text}\n" for text in texts).encode())
    for suffix in ("parquet", "txt"):
        found = pieces(parse_source(f"{tmp_path}/*.{suffix}"))
        of_each = Counter(piece.name for piece in found)
        assert set(of_each.values()) == {len(found) // files}
        assert least <= len(found) // files <= 2 * least


def test_pydocs_has_pieces_of_packages_and_a_fingerprint_of_their_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    source = parse_source("d=pydocs")
    found = pieces(source)
    files = [piece.file for piece in found]
    assert files == pydocs.pydocs_pieces()
    assert files[:4] == ["stdlib:0", "stdlib:1", "numpy:0", "numpy:1"]
    assert {piece.dataset for piece in found} == {"d"}
    monkeypatch.setattr(pydocs, "read_pydocs", lambda piece: iter([Row(piece, "", {})]))
    assert list(read_piece(found[0])) == [Row("stdlib:0", "", {})]
    fingerprints = []
    for version in ("3.11.7", "3.11.8"):
        monkeypatch.setattr(pydocs, "package_versions", lambda version=version: {"stdlib": version})
        fingerprints.append(source_fingerprint(source))
        assert fingerprints[-1] == source_fingerprint(parse_source("pydocs"))
    assert fingerprints[0] != fingerprints[1]


def test_checks_before_the_work(tmp_path: Path) -> None:
    for name, content, message in (
        ("a.csv", b"", "is empty"),
        ("a.csv", b"b\nc\n", "no column 'text'"),
        ("a.jsonl", b'{"b": 1}\n', "no column 'text'"),
        ("a.parquet", b"", "is empty"),
        ("a.parquet", b"PAR1xxxxPAR1", "not a complete Parquet file"),
        ("a.txt", "\ufefftext".encode("utf-16"), "UTF-16, expected UTF-8"),
    ):
        source = parse_source(write(tmp_path / name, content))
        with pytest.raises(InputError, match=rf"{name}: .*{message}"):
            check_source(source)
    for name, content in (("a.txt", b""), ("a.jsonl", b""), ("a.csv", b"text\n"), ("a.csv", b"text\na,b")):
        check_source(parse_source(write(tmp_path / name, content)))
    gone = parse_source(write(tmp_path / "gone.txt"))
    (tmp_path / "gone.txt").unlink()
    with pytest.raises(InputError, match=r"gone\.txt: no such file"):
        check_source(gone)


def test_the_fingerprint_is_one_of_names_and_bytes(tmp_path: Path) -> None:
    def digest(folder: str, **files: bytes) -> str:
        for name, content in files.items():
            write(tmp_path / folder / f"{name}.txt", content)
        return source_fingerprint(parse_source(str(tmp_path / folder / "*.txt")))

    first = digest("one", a=b"x", b=b"y")
    assert first == digest("two", a=b"x", b=b"y")
    assert len({first, digest("3", a=b"x", b=b"z"), digest("4", a=b"x", c=b"y"), digest("5", a=b"xy", b=b"")}) == 4


def test_documents_of_sources_with_one_name_stay_apart(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text("text,doc_id\none,d1\ntwo,\n")
    sources = [parse_source(str(tmp_path / folder / "a.csv")) for folder in ("x", "y")]
    own = named_apart([source.dataset for source in sources])
    found = [
        row.doc_id
        for source, before in zip(sources, own, strict=True)
        for piece in pieces(source)
        for row in read_piece(replace(piece, documents=before))
    ]
    assert found == ["1:d1", "1:a.csv:1", "2:d1", "2:a.csv:1"]
    assert named_apart(["a", "b"]) == ["", ""]


TEXT = "".join(f"Größe und Ärger über Satz {i} möchte gelten.\n" for i in range(30))


def test_an_encoding_of_several_bytes_a_letter_is_named_and_others_are_read_row_by_row(tmp_path: Path) -> None:
    for name, encoding, found in (
        ("a.txt", "utf-16", "UTF-16"),
        ("a.txt", "utf-16-le", "UTF-16"),
        ("a.txt", "utf-16-be", "UTF-16"),
        ("a.csv", "utf-32", "UTF-32"),
        ("a.txt", "utf-32-be", "UTF-32"),
        ("a.txt.gz", "utf-16-le", "UTF-16"),
    ):
        data = ("text\n" + TEXT).encode(encoding)
        path = write(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
        with pytest.raises(InputError, match=rf"a\..*: the text is {found}, expected UTF-8"):
            check_source(parse_source(path))
    for encoding in ("utf-8", "utf-8-sig", "latin-1"):
        check_source(parse_source(write(tmp_path / "a.txt", TEXT.encode(encoding))))


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "gone.txt")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    for name, said in (
        ("pipe", "is a pipe or a device, not a file"),
        ("link", "broken link"),
        ("loop", "broken link"),
    ):
        with pytest.raises(InputError, match=rf"{name}\.txt: .*{said}"):
            parse_source(str(tmp_path / f"{name}.txt"))


LINES = [
    b'{"text": "one", "doc_id": "d"}\n', b"\n", b'{"text": "two", "doc_id": "d", "m": 1}\r\n', b"[1]\n",
    b'{"text": "a\\nb \xc3\xa9"}\n', b'{"text": "\xff"}\n', b'{"other": "no text"}\n', b'{"text": "end"}',
]  # fmt: skip


@pytest.mark.parametrize("suffix", ["jsonl", "txt"])
@pytest.mark.parametrize(("bom", "end"), [(b"", b""), (b"\xef\xbb\xbf", b"\n"), (b"", b"\n\n")])
def test_ranges_of_lines_give_the_rows_of_the_file(tmp_path: Path, suffix: str, bom: bytes, end: bytes) -> None:
    content = bom + b"".join(LINES * 3) + end
    source = parse_source(write(tmp_path / f"a.{suffix}", content))
    (whole,) = pieces(source)
    rows = list(read_piece(whole, on_error="reject"))
    assert len(rows) > 20
    for size in (1, 7, 40, 100, len(content) // 2):
        parts = pieces_of(source, size)
        assert [part.index for part in parts] == list(range(len(parts)))
        assert 1 < len(parts) <= len(content) // size + 1
        spans = [(part.part["first_byte"], part.part["stop_byte"]) for part in parts]
        assert (spans[0][0], spans[-1][1]) == (0, None)
        assert all(stop == first for (_, stop), (first, _) in pairwise(spans))
        assert all(content[first - 1 : first] == b"\n" for first, _ in spans[1:])
        assert [row for part in parts for row in read_piece(part, on_error="reject")] == rows
        assert sum(piece_extent(part) or 0 for part in parts) == len(content)
    (alone,) = pieces_of(source, len(content))
    assert alone == whole


def test_ranges_by_a_uri_and_longer_lines_than_a_block(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a b.txt", b"".join(b"%d" % i * (i % 30) + b"\n" for i in range(60))))
    source = parse_source(path.as_uri())
    rows = list(read_piece(pieces(source)[0]))
    for size in (1, 5, 50):
        assert [row for part in pieces_of(source, size) for row in read_piece(part)] == rows
        assert line_ranges(str(path), size, block_bytes=8) == line_ranges(str(path), size)


def test_what_cannot_be_cut_is_one_piece(tmp_path: Path) -> None:
    quoted = write(tmp_path / "a.csv", b'text\n"a\nb"\n' * 50)
    packed = write(tmp_path / "b.jsonl.gz", gzip.compress(b'{"text": "a"}\n' * 500, 0))
    for path in (quoted, packed):
        assert len(pieces_of(parse_source(path), 10)) == 1


def test_a_key_that_is_missing_amid_a_file_is_no_missing_column(tmp_path: Path) -> None:
    lines = [b'{"text": "a"}\n', *[b'{"other": 1}\n'] * 400]
    source = parse_source(write(tmp_path / "a.jsonl", b"".join(lines)))
    (whole,) = pieces(source)
    assert [row for part in pieces_of(source, 500) for row in read_piece(part)] == list(read_piece(whole))
