from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.storage.store import Store
from ops.topk.silent import heard, read_heard

ROWS = pa.table({"layer": pa.array([0, 1, 1, 2], pa.int16()), "unit": pa.array([7, 7, 8, 7], pa.int32())})


def test_rows_of_silent_units_are_left_out() -> None:
    assert heard(ROWS, {(1, 7), (2, 8)}).equals(ROWS.take([0, 2, 3]))
    assert heard(ROWS, set()) is ROWS
    assert heard(pa.table({}), {(1, 7)}).num_rows == 0


def test_a_unit_is_silent_by_the_largest_activation_of_its_layer(tmp_path: Path) -> None:
    columns = {"std": [1e-5, 1e-5, 1.0, 1e-5], "min": [-1.0, 0.0, -99.0, 0.0], "max": [0.0, 0.0, 5.0, 1.0]}
    tables = {"neurons": pa.table({**dict(zip(ROWS.column_names, ROWS.columns, strict=True)), **columns}), "x": ROWS}
    for name, table in tables.items():
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "part-00000.parquet")
    store = Store(str(tmp_path))
    assert read_heard(store, "x").equals(ROWS.take([0, 2, 3]))
    assert read_heard(store, "x", pc.field("layer") == 1, ["layer", "unit"]).equals(ROWS.take([2]))
