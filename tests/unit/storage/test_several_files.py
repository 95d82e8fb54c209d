"""What is read of many files at once, on a store whose files open in pairs alone."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.storage.range_file import read_each, read_each_between, read_groups_of_each
from ops.storage.store import Store
from tests.unit.paired_store import PairedStore

FILES = 6
NAMES = [f"{i}.parquet" for i in range(FILES)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six files of seven positions each, every sixth of 0 to 41, in three row groups."""
    for i, name in enumerate(NAMES):
        position = np.arange(i, 7 * FILES, FILES)
        columns = {"position": position, "copies": position % 3 + 1, "priority": position.astype(np.uint64)}
        pq.write_table(pa.table(columns), tmp_path / name, row_group_size=3)
    return tmp_path


def test_ranges_of_several_files_are_read_beside_each_other(folder: Path) -> None:
    found = list(read_each_between(PairedStore(str(folder)), NAMES, "position", 10, 20))
    assert [table["position"].to_pylist() for table in found] == [
        [p for p in range(10, 21) if p % FILES == i] for i in range(FILES)
    ]


def test_files_and_their_row_groups_come_in_order_and_ahead(folder: Path) -> None:
    ahead = list(read_groups_of_each(PairedStore(str(folder)), NAMES, ["copies"]))
    plain = list(read_groups_of_each(Store(str(folder)), NAMES, ["copies"]))
    assert len(plain) == 3 * FILES
    assert all(one.equals(other) for one, other in zip(ahead, plain, strict=True))
    ahead = list(read_each(PairedStore(str(folder)), NAMES, ["priority"]))
    plain = [pq.read_table(folder / name, columns=["priority"]) for name in NAMES]
    assert all(one.equals(other) for one, other in zip(ahead, plain, strict=True))
