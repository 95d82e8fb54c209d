"""What holds for the records of all formats together."""

import subprocess
import sys
from pathlib import Path

import pytest

from ops.sources import formats
from ops.sources.formats import FORMATS, suffixes
from ops.sources.pieces import check_source, missing_column, piece_extent, pieces, read_piece, source_fingerprint
from ops.sources.spec import parse_source
from ops.sources.text_format import TextFormat
from ops.sources.txt import read_txt
from tests.conftest import ROOT


def test_a_new_format_needs_nothing_but_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = TextFormat(kind="lines", suffixes=(".lines",), reader=read_txt)
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, new))
    (tmp_path / "a.lines").write_text("One.\nTwo.\n")
    source = parse_source(str(tmp_path / "a.lines"))
    check_source(source)
    (piece,) = pieces(source)
    assert [(row.text, row.doc_id) for row in read_piece(piece)] == [("One.", "a.lines:0"), ("Two.", "a.lines:1")]
    assert piece_extent(piece) == 10
    assert missing_column([source], "topic") is None
    assert source_fingerprint(source) != source_fingerprint(parse_source("pydocs"))
    assert ".lines" in suffixes()


def test_listing_the_formats_imports_nothing_heavy() -> None:
    program = "import sys; from ops.sources.formats import FORMATS; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"numpy", "pyarrow", "datasets", "huggingface_hub"} & set(loaded.stdout.split())
