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


def test_rows_are_those_for_which_a_condition_holds(tables: OpenTables) -> None:
    assert [row["n"] for row in tables.rows("t", pc.field("id") < 30, ["n"])] == [
        2 * row["id"] for row in tables.read("t").to_pylist() if row["id"] < 30
    ]
