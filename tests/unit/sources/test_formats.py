"""What holds for the records of all formats together."""

from pathlib import Path

import pytest

from ops.sources import pieces as formats
from ops.sources.file_names import KINDS, suffixes
from ops.sources.pieces import (
    FORMATS,
    check_source,
    missing_column,
    piece_extent,
    pieces,
    read_piece,
    source_fingerprint,
)
from ops.sources.source_format import TextFormat
from ops.sources.spec import parse_source
from ops.sources.text import read_txt


def test_a_new_format_needs_nothing_but_its_record_and_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, TextFormat(kind="lines", reader=read_txt)))
    monkeypatch.setitem(KINDS, ".lines", "lines")
    (tmp_path / "a.lines").write_text("One.\nTwo.\n")
    source = parse_source(str(tmp_path / "a.lines"))
    check_source(source)
    (piece,) = pieces(source)
    assert [(row.text, row.doc_id) for row in read_piece(piece)] == [("One.", "a.lines:0"), ("Two.", "a.lines:1")]
    assert piece_extent(piece) == 10
    assert missing_column([source], "topic") is None
    assert source_fingerprint(source) != source_fingerprint(parse_source("pydocs"))
    assert ".lines" in suffixes()
