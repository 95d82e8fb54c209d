"""Every table: its columns with types and meanings, what may be null, and its sort order."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ops.schema.columns import TableSpec

SCHEMA_VERSION = "5"
_UNITS, _VALUES = "_units", "_values"  # end the names of a layer's columns in activations/ if it is sparse
_WIDTH = b"atlas.width"
# Typical lengths of texts and lists, for estimates; those of sentences and trees are of packaged docstrings.
_LENGTHS, _LENGTH, _VALUES_IN_A_LIST = {"text": 73, "tree": 219}, 16, 15
TOOL = "neuron-atlas"  # the program that writes the tables, as run.json and exports name it
# Each module of this package whose name ends in `_tables` describes the tables of one job.
TABLES: dict[str, TableSpec] = {
    name: spec
    for module in iter_modules(__path__)
    if module.name.endswith("_tables")
    for name, spec in import_module(f"{__name__}.{module.name}").TABLES.items()
}


def schema(table: str, keys: Iterable[str] = ()) -> pa.Schema:
    """Return a table's Arrow schema.

    Args:
        keys: the metadata keys of the run's sources, which become the fields of `meta`. Without keys, it is omitted.
    """
    arrow = TABLES[table].arrow
    index = arrow.get_field_index("meta")
    if index < 0:
        return arrow
    fields = [pa.field(key, pa.string()) for key in sorted(keys)]
    return arrow.set(index, pa.field("meta", pa.struct(fields), False)) if fields else arrow.remove(index)


def concatenate(table: str | pa.Schema, tables: Iterable[pa.Table]) -> pa.Table:
    """Return tables one after another; if there are none, an empty table.

    Args:
        table: the name of the table to which the rows belong, or its schema if it is not in `TABLES`.

    >>> concatenate("unscored", []).column_names
    ['sent_id', 'reason']
    """
    parts = list(tables)
    if parts:
        return pa.concat_tables(parts)
    return (schema(table) if isinstance(table, str) else table).empty_table()


def table(name: str | pa.Schema, data: Iterable[Mapping[str, Any]] | Mapping[str, Any] | pa.Table) -> pa.Table:
    """Return rows or columns as a table with its columns and types, sorted by its key.

    Args:
        name: the table's name, or its schema if it is not in `TABLES`; then its rows keep their order.
        data: rows as mappings from column to value, or the columns by name; other columns are dropped. Where a column
            may be null, a value that a row lacks and NaN become null.

    >>> table("unscored", [{"sent_id": 7, "reason": "b"}, {"sent_id": 2, "reason": "a"}]).to_pydict()
    {'sent_id': [2, 7], 'reason': ['a', 'b']}
    """
    layout = schema(name) if isinstance(name, str) else name
    if not isinstance(data, pa.Table | Mapping):
        rows = list(data)
        data = {column: [row.get(column) for row in rows] for column in layout.names}
    whole = pa.table([_as_column(data[field.name], field) for field in layout], schema=layout)
    keys = TABLES[name].order if isinstance(name, str) else ()
    return whole.sort_by([(key, "ascending") for key in keys]) if keys else whole


def _as_column(values: Any, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    is_arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    column = values.cast(field.type) if is_arrow else pa.array(values, field.type)
    if field.nullable and pa.types.is_floating(field.type):
        return pc.if_else(pc.is_nan(column), None, column)
    return column


def meta_keys(arrow: pa.Schema) -> list[str]:
    """Return the fields of the column `meta`, or an empty list if there is no such column."""
    return [field.name for field in arrow.field("meta").type] if "meta" in arrow.names else []


def row_bytes(table: str) -> float:
    """Return the approximate bytes that a row of the table, or a value of `activations`, takes before compression."""
    return sum(map(_value_bytes, TABLES[table].arrow)) if table in TABLES else 4.0


def _value_bytes(field: pa.Field) -> float:
    if pa.types.is_list(field.type):
        return _VALUES_IN_A_LIST * _value_bytes(field.type.value_field)
    if pa.types.is_struct(field.type):
        return sum(map(_value_bytes, field.type))
    return _LENGTHS.get(field.name, _LENGTH) if pa.types.is_string(field.type) else field.type.bit_width / 8


def group_rows(table: str) -> int:
    """Return the maximum number of rows of a row group of the table."""
    return TABLES[table].rows_per_group if table in TABLES else 1_024


def activations_schema(widths: Mapping[int, int], sparse: bool = False) -> pa.Schema:
    """Return the schema of `activations/`: a sentence, then for each layer a vector with one value per unit.

    For sparse features, each layer has two lists instead: the active units in ascending order, and their values.

    Args:
        sparse: whether units are sparse features.
    """
    layers = []
    for layer, width in widths.items():
        if sparse:
            units, values = f"layer_{layer}{_UNITS}", f"layer_{layer}{_VALUES}"
            layers.append(pa.field(units, pa.list_(pa.int32()), False, metadata={_WIDTH: str(width)}))
            layers.append(pa.field(values, pa.list_(pa.float32()), False))
        else:
            layers.append(pa.field(f"layer_{layer}", pa.list_(pa.float32(), width), False))
    return pa.schema([pa.field("sent_id", pa.int64(), False), *layers])


def layer_widths(activations: pa.Schema) -> dict[int, int]:
    """Return the number of units of each layer, read from the schema of `activations/`."""
    widths = {}
    for field in activations:
        layer = field.name.removeprefix("layer_")
        if layer.isdecimal():
            widths[int(layer)] = field.type.list_size
        elif layer.endswith(_UNITS):
            widths[int(layer.removesuffix(_UNITS))] = int(field.metadata[_WIDTH])
    return widths


def layer_columns(layer: int, names: Iterable[str]) -> list[str]:
    """Return the names of a layer's columns in `activations/`: one of vectors, or two of units and values."""
    whole = f"layer_{layer}"
    return [whole] if whole in names else [whole + _UNITS, whole + _VALUES]
