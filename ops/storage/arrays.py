"""Arrays as the table of a partial file."""

from collections.abc import Mapping
from itertools import groupby
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ops.arrays import Arrays

Record = TypeVar("Record")
_MOST_BYTES = 1 << 26  # of one row, because a page of Parquet holds at least one row and at most 2 GiB
_SCHEMA = pa.schema(
    [("name", pa.string()), ("type", pa.string()), ("shape", pa.list_(pa.int64())), ("data", pa.large_binary())]
)


def write_arrays(**arrays: npt.ArrayLike) -> pa.Table:
    """Return arrays of any type and shape, except of Python objects, as a table that `read_arrays` reads.

    Each array has its name, type, shape and bytes in one row, or in several rows if it is large.

    >>> found = read_arrays(write_arrays(counts=[[1, 2]], names=["a", "bc"]))
    >>> found["counts"].tolist(), found["names"].tolist()
    ([[1, 2]], ['a', 'bc'])
    """
    parts = [_SCHEMA.empty_table()]
    for name, values in arrays.items():
        array = np.asarray(values, order="C")
        ends = np.append(np.arange(0, max(array.nbytes, 1), _MOST_BYTES), array.nbytes)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(array.reshape(-1).view(np.uint8))]
        data = pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, buffers)
        described = ([value] * len(data) for value in (name, array.dtype.str, array.shape))
        parts.append(pa.table([*described, data], schema=_SCHEMA))
    return pa.concat_tables(parts)


def named_arrays(records: Mapping[str, object]) -> dict[str, Arrays]:
    """Return the arrays that are the fields of dataclasses, each named `KEY/FIELD`, for `write_arrays`."""
    return {f"{key}/{field}": values for key, record in records.items() for field, values in vars(record).items()}


def named_records(kind: type[Record], arrays: Mapping[str, Arrays]) -> dict[str, Record]:
    """Return the dataclasses of a kind by their keys, from the arrays of `named_arrays`."""
    fields: dict[str, dict[str, Arrays]] = {}
    for name, values in arrays.items():
        key, _, field = name.rpartition("/")
        fields.setdefault(key, {})[field] = values
    return {key: kind(**own) for key, own in fields.items()}


def read_arrays(table: pa.Table) -> dict[str, Arrays]:
    """Return the arrays in a table of `write_arrays`, by name."""
    names, types, shapes = (table[column].to_pylist() for column in _SCHEMA.names[:3])
    arrays: dict[str, Arrays] = {}
    rows = zip(names, types, shapes, table["data"], strict=True)
    for (name, kind, shape), parts in groupby(rows, lambda row: row[:3]):
        arrays[name] = np.concatenate([np.frombuffer(row[3].as_buffer(), np.uint8) for row in parts])
        arrays[name] = arrays[name].view(kind).reshape(shape)
    return arrays
