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


def test_rows_of_any_table_are_read_without_silent_units(tmp_path: Path) -> None:
    neurons = ROWS.append_column("is_silent", [[False, True, False, True]])
    for name, table in {"neurons": neurons, "x": ROWS}.items():
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "part-00000.parquet")
    store = Store(str(tmp_path))
    assert read_heard(store, "x").equals(ROWS.take([0, 2]))
    assert read_heard(store, "x", pc.field("layer") == 1, ["layer", "unit"]).equals(ROWS.take([2]))
