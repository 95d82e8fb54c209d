import gzip
import textwrap
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.sources import text as text_reader
from ops.sources.pieces import extent_of, piece_extent, pieces, read_piece
from ops.sources.rows import Broken, Row
from ops.sources.source import Reading
from ops.sources.spec import parse_source
from ops.sources.text import hard_broken, has_hard_breaks, read_paragraphs
from tests.unit.sources.files import read, write

BOOK = Reading(paragraphs=True)
PARAGRAPHS = [
    f"In year {i} the ferry {'still ' * (i % 5)}crossed the lake each morning, and the keeper of the light counted "
    f"its passengers from the gallery; he wrote {'only ' * (i % 3)}their number into a book that nobody read."
    for i in range(90)
]


def test_blank_lines_separate_rows_and_line_ends_become_spaces(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbf\r\nOne\r\nand two.\r\n \t\r\n\r\n  Three\n\xff\n\nFour\n  five")
    assert list(read(read_paragraphs, path)) == [
        Row("One and two.", "a.txt:0", {}),
        Broken("Three \ufffd", "a.txt:0", "invalid_text"),
        Row("Four five", "a.txt:0", {}),
    ]
    assert list(read(read_paragraphs, write(tmp_path / "a.txt", "\n\n"))) == []


def test_a_document_is_a_file_or_forty_paragraphs(tmp_path: Path) -> None:
    def documents(files: int) -> list[str]:
        for number in range(files):
            write(tmp_path / str(files) / f"{number:02}.txt", "\n\n".join(PARAGRAPHS))
        source = parse_source(f"{tmp_path}/{files}/*.txt", BOOK)
        return [row.doc_id for piece in pieces(source) for row in read_piece(piece)]

    assert documents(1) == [f"00.txt:{number // 40}" for number in range(90)]
    assert {*documents(19)} == {f"{file:02}.txt:{block}" for file in range(19) for block in range(3)}
    assert documents(20) == [f"{file:02}.txt" for file in range(20) for _ in range(90)]


def test_rows_of_other_files_do_not_change(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a\\n\\nb"}\n')
    assert parse_source(path, BOOK) == parse_source(path)
    write(tmp_path / "b.txt")
    assert parse_source(f"{tmp_path}/b.txt", BOOK).kind != parse_source(f"{tmp_path}/b.txt").kind


def test_a_long_paragraph_is_cut_at_a_line_end_and_damage_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_reader, "_MOST_CHARACTERS", 10)
    path = write(tmp_path / "a.txt", "one two\nthree four\nfive six\nseven\n\neight")
    assert [row.text for row in read(read_paragraphs, path)] == ["one two three four", "five six seven", "eight"]
    data = gzip.compress("\n\n".join(PARAGRAPHS * 20).encode())
    path = write(tmp_path / "a.txt.gz", data[: len(data) // 2])
    *rows, lost = read(read_paragraphs, path, on_error="reject")
    assert isinstance(lost, Broken)
    assert (lost.reason, len(rows) > 10) == ("broken", True)
    with pytest.raises(InputError, match=rf"a\.txt\.gz: after paragraph {len(rows)}: .*--on-error reject"):
        list(read(read_paragraphs, path))


@pytest.mark.parametrize("reading", [BOOK, Reading(documents=True)])
def test_the_length_of_the_first_rows(tmp_path: Path, reading: Reading) -> None:
    path = write(tmp_path / "a.txt", "\n\n".join(textwrap.fill(text, 60) for text in PARAGRAPHS))
    (piece,) = pieces(parse_source(path, reading))
    assert extent_of(piece, list(read_piece(piece))) == pytest.approx(piece_extent(piece), rel=0.01)


@pytest.mark.parametrize("width", [40, 72, 100])
def test_hard_line_breaks_are_recognised(tmp_path: Path, width: int) -> None:
    broken = "\n\n".join(textwrap.fill(text, width) for text in PARAGRAPHS)
    assert has_hard_breaks(broken)
    path = write(tmp_path / "a.txt", broken)
    assert hard_broken(parse_source(path))
    assert not hard_broken(parse_source(path, BOOK))
    assert not hard_broken(parse_source(write(tmp_path / "a.csv", broken)))


@pytest.mark.parametrize("lower", [False, True])
def test_lines_that_are_sentences_paragraphs_or_verses_are_not(lower: bool) -> None:
    sentences = [part.strip() for text in PARAGRAPHS for part in text.replace("and", ",").split(",")]
    verse = [f"O ship that left {'the harbour ' * (i % 3)}here" for i in range(90)]
    for lines in (PARAGRAPHS, sentences, verse, ["short"] * 5, []):
        text = "\n".join(line.lower() if lower else line.capitalize() for line in lines)
        assert not has_hard_breaks(text)
