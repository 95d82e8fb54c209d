import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.storage.range_file import SortedWriter, group_starts, read_between, read_groups, take_rows, write_numbers
from ops.storage.store import Store
from tests.unit.damaged_file import UNSOUND, damage

KEYS = pa.schema([("high", pa.uint64()), ("low", pa.uint64()), ("place", pa.int64())])


@pytest.mark.parametrize(("rows", "segment"), [(200, 1), (200, 7), (200, 1000), (0, 1000)])
def test_ranges_give_every_row_once_whatever_the_segments(tmp_path: Path, rows: int, segment: int) -> None:
    rng = np.random.default_rng(0)
    high, low = (rng.integers(0, 2**64, rows, dtype=np.uint64) for _ in range(2))
    with SortedWriter(tmp_path / "keys.parquet", KEYS, segment) as writer:
        for start in range(0, rows, 9):
            some = slice(start, start + 9)
            writer.add(high[some], low[some], np.arange(rows)[some])
        writer.finish({b"note": b"kept"})
    store = Store(str(tmp_path))
    cuts = [0, 1 << 60, 1 << 61, (1 << 63) + 5, 2**64]
    found = []
    for first, stop in itertools.pairwise(cuts):
        table = read_between(store, "keys.parquet", "high", first, stop - 1)
        inside = table["high"].to_pylist()
        assert all(first <= value < stop for value in inside)
        found += list(zip(inside, table["low"].to_pylist(), table["place"].to_pylist(), strict=True))
    assert sorted(found, key=lambda row: row[2]) == list(zip(high.tolist(), low.tolist(), range(rows), strict=True))
    with store.parquet("keys.parquet") as file:
        assert file.metadata.metadata[b"note"] == b"kept"
        assert file.num_row_groups == -(-rows // max(segment, 9)) or segment == 7
    assert sum(group.num_rows for group in read_groups(store, "keys.parquet")) == rows


def test_rows_are_taken_by_their_numbers(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": range(100, 150), "b": range(50)}), tmp_path / "t.parquet", row_group_size=7)
    for rows in ([], [0], [49], [3, 6, 7, 8, 20, 21, 48, 49], list(range(50))):
        wanted = np.array(rows, np.int64)
        with Store(str(tmp_path)).parquet("t.parquet") as file:
            assert group_starts(file).tolist() == [*range(0, 50, 7), 50]
            parts = list(take_rows(file, wanted, ["a"]))
            whole = list(take_rows(file, wanted))
        assert [value for _, part in parts for value in part["a"].to_pylist()] == [100 + row for row in rows]
        assert [value for _, part in whole for value in part["b"].to_pylist()] == rows
        assert [row for own, _ in parts for row in wanted[own].tolist()] == rows
        assert len(parts) == len({row // 7 for row in rows})
        assert all(part.column_names == ["a"] for _, part in parts)


@pytest.mark.parametrize("sorted_by_writer", [True, False])
def test_a_changed_bit_is_noticed(tmp_path: Path, sorted_by_writer: bool) -> None:
    path, numbers = tmp_path / "keys.parquet", np.arange(9)
    if sorted_by_writer:
        with SortedWriter(path, KEYS) as writer:
            writer.add(numbers, numbers, numbers)
            writer.finish({})
    else:
        write_numbers(pa.table([pa.array(numbers)] * 3, schema=KEYS), str(path))
    damage(path)
    with pytest.raises(OSError, match=UNSOUND):
        read_between(Store(str(tmp_path)), "keys.parquet", "high", 0, 9)
