"""Rows by key are those that a look at every row finds, and groups without one are left unread."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ops.storage.open_tables import OpenTables
from ops.storage.store import Store

COLUMNS = ["id", "text"]


@pytest.fixture
def tables(tmp_path: Path) -> OpenTables:
    rng = np.random.default_rng(0)
    ids = np.sort(rng.choice(3_000, 1_000, replace=False))
    (tmp_path / "t").mkdir()
    cuts = ((0, 400), (400, 400), (400, 1_000))  # one file is empty
    for part, (first, stop) in enumerate(cuts):
        rows = pa.table({"id": ids[first:stop], "text": [f"t{i}" for i in ids[first:stop]], "n": ids[first:stop] * 2})
        pq.write_table(rows, tmp_path / "t" / f"part-{part:05d}.parquet", row_group_size=64)
    return OpenTables(Store(str(tmp_path)))


def test_rows_by_key_are_all_that_are_there_in_order(tables: OpenTables) -> None:
    everything = tables.read("t", None, COLUMNS).to_pylist()
    assert len(everything) == 1_000
    for wanted in (set(), {0}, {-5, 10**12}, set(range(3_000)), set(range(0, 3_000, 97))):
        assert tables.rows_of_keys("t", "id", wanted, COLUMNS) == [row for row in everything if row["id"] in wanted]


def test_row_groups_without_a_key_are_not_read(tmp_path: Path) -> None:
    """So many keys that Arrow would read every group: the last group is damaged, and nothing notices."""
    (tmp_path / "t").mkdir()
    file = tmp_path / "t" / "part-00000.parquet"
    rows = {"id": np.arange(4_000), "text": [f"t{i}" for i in range(4_000)]}
    pq.write_table(pa.table(rows), file, row_group_size=1_000)
    last, content = pq.ParquetFile(file).metadata.row_group(3).column(0), bytearray(file.read_bytes())
    start = last.dictionary_page_offset or last.data_page_offset
    content[start : start + 64] = b"\0" * 64
    file.write_bytes(content)
    tables, wanted = OpenTables(Store(str(tmp_path))), set(range(0, 3_000, 10))
    assert [row["id"] for row in tables.rows_of_keys("t", "id", wanted, COLUMNS)] == sorted(wanted)
    with pytest.raises((OSError, pa.ArrowInvalid)):
        tables.rows_of_keys("t", "id", {3_500}, COLUMNS)


def test_rows_are_those_for_which_a_condition_holds(tables: OpenTables) -> None:
    assert [row["n"] for row in tables.rows("t", pc.field("id") < 30, ["n"])] == [
        2 * row["id"] for row in tables.read("t").to_pylist() if row["id"] < 30
    ]
