from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.schema import SCHEMA_VERSION, TABLES, group_rows, schema
from ops.storage.store import Store, is_whole, shard_footer
from ops.storage.tables import footer, part_name, read_parts, read_table, stored_columns, write_part
from tests.unit.damaged_file import UNSOUND, damage

UNSCORED = schema("unscored")


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"sent_id": range(first, first + count), "reason": ["r"] * count}, schema=UNSCORED)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def test_a_part_keeps_what_the_table_promises(store: Store) -> None:
    limit = group_rows("unscored")
    batches = [rows(0, 2), rows(2, 0), rows(2, limit + 3), rows(limit + 5, 1)]
    extra = shard_footer("abc", "unscored-0", limit + 6)
    assert write_part(store, "unscored", 0, UNSCORED, iter(batches), "abc", extra) == limit + 6
    assert is_whole(store, part_name("unscored", 0), "abc", "unscored-0")
    with store.parquet(part_name("unscored", 0)) as file:
        meta = file.metadata
        assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [2, limit, 3, 1]
        assert meta.metadata[b"atlas.schema_version"] == SCHEMA_VERSION.encode()
        assert meta.metadata[b"atlas.fingerprint"] == b"abc"
        assert {meta.row_group(g).column(c).compression for g in range(4) for c in range(2)} == {"ZSTD"}
        assert file.schema_arrow.equals(UNSCORED)
        assert file.read()["sent_id"].to_pylist() == list(range(limit + 6))


def test_columns_of_floats_are_found_at_any_depth(tmp_path: Path) -> None:
    place = pa.struct([("row", pa.int64()), ("at", pa.list_(pa.float64()))])
    nested = {
        "plain": pa.float32(),
        "meta": pa.map_(pa.string(), pa.float64()),
        "place": place,
        "words": pa.list_(pa.string()),
    }
    pq.write_table(pa.schema(list(nested.items())).empty_table(), tmp_path / "t.parquet")
    found = stored_columns(pa.schema(list(nested.items())))
    assert list(found) == [column.path for column in pq.ParquetFile(tmp_path / "t.parquet").schema]
    floats = ["plain", "meta.key_value.value", "place.at.list.element"]
    assert [path for path, is_float in found.items() if is_float] == floats


def test_every_table_can_be_written_empty(store: Store) -> None:
    for table in TABLES:
        assert write_part(store, table, 7, schema(table), [], "f") == 0
        found = pq.read_table(store.path(f"{table}/part-00007.parquet"))
        assert found.schema.remove_metadata().equals(schema(table)), table
        assert found.num_rows == 0
        assert footer("f").items() <= found.schema.metadata.items()


def test_types_are_cast_and_what_cannot_be_written_leaves_nothing(store: Store) -> None:
    narrow = pa.table({"sent_id": pa.array([1], pa.int32()), "reason": ["r"]})
    assert write_part(store, "unscored", 0, UNSCORED, [narrow], "f") == 1
    with pytest.raises(ValueError, match="reason"):
        write_part(store, "unscored", 1, UNSCORED, [narrow.rename_columns(["sent_id", "why"])], "f")
    null = pa.table({"sent_id": pa.array([None], pa.int64()), "reason": ["r"]})
    with pytest.raises((ValueError, pa.ArrowException)):
        write_part(store, "unscored", 1, UNSCORED, [null], "f")
    with pytest.raises(ZeroDivisionError):
        write_part(store, "unscored", 1, UNSCORED, (rows(0, 1 // i) for i in (1, 0)), "f")
    assert [path.name for path in Path(store.root).rglob("*.parquet*")] == ["part-00000.parquet"]


def test_parts_are_read_in_their_order(store: Store) -> None:
    for part, first in ((10, 5), (2, 0)):
        write_part(store, "unscored", part, UNSCORED, [rows(first, 2), rows(first + 2, 1)], "f")
    found = [t.column_names + t["sent_id"].to_pylist() for t in read_parts(store, "unscored", ["sent_id"])]
    assert found == [["sent_id", 0, 1], ["sent_id", 2], ["sent_id", 5, 6], ["sent_id", 7]]
    assert list(read_parts(store, "nothing")) == []


def test_a_changed_bit_is_noticed_by_either_reader(store: Store) -> None:
    write_part(store, "unscored", 0, UNSCORED, [rows(0, 9)], "f")
    damage(store.path(part_name("unscored", 0)))
    for read in (lambda: list(read_parts(store, "unscored")), lambda: read_table(store, "unscored")):
        with pytest.raises(OSError, match=UNSOUND):
            read()
