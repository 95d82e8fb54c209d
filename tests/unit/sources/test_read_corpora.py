import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ops.sources.pieces import check_source, pieces, read_piece
from ops.sources.rows import Row
from ops.sources.spec import parse_source

FOLDER = os.environ.get("ATLAS_TEST_DATA") and os.path.join(os.environ["ATLAS_TEST_DATA"], "corpora")


@pytest.mark.skipif(not FOLDER or not os.path.isdir(FOLDER), reason="ATLAS_TEST_DATA names no folder of real sentences")
def test_every_row_of_real_files_is_read() -> None:
    source = parse_source(f"real={Path(FOLDER or '') / 'wikipedia.parquet'}")
    check_source(source)
    (piece,) = pieces(source)
    table = pq.read_table(piece.file)
    rows = list(read_piece(piece))
    assert [row.text for row in rows] == table["text"].to_pylist()
    topics = Counter(row.meta["topic"] for row in rows if isinstance(row, Row) and "topic" in row.meta)
    assert topics == Counter(topic for topic in table["topic"].to_pylist() if topic is not None)
