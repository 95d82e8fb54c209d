"""Compare the estimated extent of a piece, from its first rows, with the piece read to its end."""

import csv
import gzip
import json
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.sources.pieces import extent_of, piece_extent, pieces, read_piece
from ops.sources.source import Piece, Reading
from ops.sources.spec import parse_source

TEXTS = [f"Line {i} has {'some ' * (i % 7)}words." for i in range(400)]
FORMATS = [".csv", ".parquet", ".txt.gz", ".jsonl.zst"]


def write(path: Path, suffix: str) -> Piece:
    path = path / f"a{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.table({"text": TEXTS}), path)
    elif suffix == ".csv":
        with path.open("w", newline="") as file:
            # A quoted value of two lines in every row.
            csv.writer(file).writerows([["text", "note"], *([text, "one\ntwo"] for text in TEXTS)])
    else:
        lines = TEXTS if "txt" in suffix else [json.dumps({"text": text}) for text in TEXTS]
        data = ("\n".join(lines) + "\n").encode()
        if suffix.endswith(".gz"):
            data = gzip.compress(data)
        elif suffix.endswith(".zst"):
            data = pa.Codec("zstd").compress(data, asbytes=True)
        path.write_bytes(data)
    (piece,) = pieces(parse_source(str(path)))
    return piece


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_quarter_of_the_rows_is_a_quarter_of_the_piece(tmp_path: Path, suffix: str) -> None:
    piece = write(tmp_path, suffix)
    whole = piece_extent(piece)
    assert whole is not None
    assert extent_of(piece, list(islice(read_piece(piece), 100))) / whole == pytest.approx(0.25, abs=0.01)
    assert extent_of(piece, list(read_piece(piece))) == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize(("form", "between"), [("paragraphs", "\n\n"), ("json", "")])
def test_the_names_of_folders_are_no_part_of_a_file(tmp_path: Path, form: str, between: str) -> None:
    folder = tmp_path / "language=english" / "topic=politics"
    folder.mkdir(parents=True)
    path = folder / ("a.txt" if form == "paragraphs" else "a.json")
    texts = [f"Line {i} has {'some ' * (i % 7)}words." for i in range(400)]
    path.write_text(between.join(texts) if between else json.dumps([{"text": text} for text in texts]))
    (piece,) = pieces(parse_source(str(path), Reading(paragraphs=form == "paragraphs")))
    whole = piece_extent(piece)
    assert whole is not None
    assert extent_of(piece, list(islice(read_piece(piece), 100))) / whole == pytest.approx(0.25, abs=0.02)


def test_a_damaged_compressed_file_has_an_extent_and_is_refused_by_who_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    data = bytearray(gzip.compress(b'{"text": "The cat sat on the mat."}\n' * 50))
    data[12:40] = bytes(range(200, 228))
    path.write_bytes(data)
    (piece,) = pieces(parse_source(str(path)))
    assert piece_extent(piece) == len(data)
    assert 0 <= extent_of(piece, list(read_piece(piece, on_error="reject"))) < len(data)


def test_modules_up_to_the_last_row_s() -> None:
    piece = Piece("pydocs", "pydocs", "pyarrow:0", "pyarrow:0", 0)
    rows = list(read_piece(piece))
    whole, half = piece_extent(piece), extent_of(piece, rows[: len(rows) // 2])
    assert whole is not None
    assert 0 < half < extent_of(piece, rows) <= whole
    assert extent_of(piece, []) == 0
