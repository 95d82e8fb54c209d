"""What is read of many files at once, on a store whose files open in pairs alone."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.corpus.first_copies import FirstCopies
from ops.corpus.piece_counts import COUNTS, Pieces
from ops.storage.range_file import read_each, read_each_between, read_groups_of_each, write_numbers
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


def test_first_copies_are_read_beside_each_other(folder: Path) -> None:
    ahead, plain = (FirstCopies(store(str(folder)), NAMES, None) for store in (PairedStore, Store))
    assert ahead.total() == plain.total() == 7 * FILES
    assert ahead.between(5, 30)["position"].to_pylist() == list(range(5, 31))
    groups = [group["position"].to_pylist() for group in ahead.groups("priority")]
    assert groups == [group["position"].to_pylist() for group in plain.groups("priority")]


def test_counts_of_pieces_are_read_beside_each_other(tmp_path: Path) -> None:
    for i, name in enumerate(NAMES):
        counts = {"rows": 10 + i, "sentences": i, "rejects": 1, "documents": 2, "reasons": {"short": i}, "keys": ["k"]}
        table = pa.table({"high": pa.array([], pa.int64())})
        write_numbers(table.replace_schema_metadata({COUNTS: json.dumps(counts).encode()}), str(tmp_path / name))
    found = Pieces.read(PairedStore(str(tmp_path)), NAMES, [0, 0, 0, 1, 1, 1])
    assert found.rows.tolist() == list(range(10, 16))
    assert found.sentences.tolist() == list(range(6))
    assert [reasons["short"] for reasons in found.reasons] == list(range(6))
