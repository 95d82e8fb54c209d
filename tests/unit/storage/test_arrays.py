import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.reducers.grouped_moments import GroupedMoments
from ops.storage import arrays
from ops.storage.arrays import named_arrays, named_records, read_arrays, write_arrays


def test_arrays_of_any_type_and_shape_come_back_from_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_MOST_BYTES", 16)
    given = {
        "of 96 bytes": np.arange(12.0).reshape(3, 4),
        "empty": np.zeros((0, 3), np.float32),
        "a/b": np.array(["a", "bcd", ""]),
        "number": np.array(5.5),
        "bools": np.array([True, False]),
        "columns first": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    }
    table, sink = write_arrays(**given), pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=3)
    found = read_arrays(pq.read_table(pa.BufferReader(sink.getvalue())))
    assert found.keys() == given.keys()
    for name, array in given.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        np.testing.assert_array_equal(found[name], array, name)
    assert read_arrays(write_arrays()) == {}


def test_records_come_back_by_their_keys() -> None:
    given = {"a/b": GroupedMoments.empty(2), "c": GroupedMoments.empty(3)}
    found = named_records(GroupedMoments, read_arrays(write_arrays(**named_arrays(given))))
    assert {key: own.mean.shape for key, own in found.items()} == {"a/b": (0, 2), "c": (0, 3)}
