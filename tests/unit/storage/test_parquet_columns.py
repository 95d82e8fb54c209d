from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ops.storage.parquet_columns import float_columns, leaf_columns

NESTED = pa.schema(
    [
        ("plain", pa.float32()),
        ("words", pa.list_(pa.string())),
        ("meta", pa.map_(pa.string(), pa.float64())),
        ("vector", pa.list_(pa.float32(), 3)),
        ("place", pa.struct([("row", pa.int64()), ("at", pa.list_(pa.float64()))])),
        ("large", pa.large_list(pa.int32())),
    ]
)


def test_paths_are_the_ones_that_parquet_writes(tmp_path: Path) -> None:
    pq.write_table(NESTED.empty_table(), tmp_path / "t.parquet")
    schema = pq.ParquetFile(tmp_path / "t.parquet").schema
    written = [schema.column(i).path for i in range(len(NESTED.names) + 2)]
    assert [path for path, _ in leaf_columns(NESTED)] == written


def test_columns_of_floats() -> None:
    assert float_columns(NESTED) == ["plain", "meta.key_value.value", "vector.list.element", "place.at.list.element"]
