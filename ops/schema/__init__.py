"""Every table: its columns with types and meanings, what may be null, and its sort order."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules

import pyarrow as pa

from ops.schema.columns import STRING, Column, TableSpec

__all__ = [
    "SCHEMA_VERSION",
    "TABLES",
    "TOOL",
    "Column",
    "TableSpec",
    "activations_schema",
    "group_rows",
    "layer_widths",
    "meta_keys",
    "schema",
]

SCHEMA_VERSION = "4"
TOOL = "neuron-atlas"  # the program that writes the tables, as run.json and exports name it
# Each file of this folder whose name ends in `_tables` describes those of a job.
TABLES: dict[str, TableSpec] = {
    name: spec
    for module in iter_modules(__path__)
    if module.name.endswith("_tables")
    for name, spec in import_module(f"{__name__}.{module.name}").TABLES.items()
}


def schema(table: str, keys: Iterable[str] = ()) -> pa.Schema:
    """Return a table's Arrow schema.

    Args:
        table: its name.
        keys: the metadata keys of the run's sources, the fields of `meta`, which is left out where there are none.
    """
    arrow = TABLES[table].arrow
    place = arrow.get_field_index("meta")
    if place < 0:
        return arrow
    fields = [pa.field(key, STRING) for key in sorted(keys)]
    return arrow.set(place, pa.field("meta", pa.struct(fields), False)) if fields else arrow.remove(place)


def meta_keys(found: pa.Schema) -> list[str]:
    """Return the fields of the column `meta`, none where it is left out."""
    return [field.name for field in found.field("meta").type] if "meta" in found.names else []


def group_rows(table: str) -> int:
    """Return the most rows that a row group of the table may hold."""
    return TABLES[table].rows_per_group if table in TABLES else 1_024


def activations_schema(widths: Mapping[int, int]) -> pa.Schema:
    """Return the schema of `activations/`: a sentence, then one vector for each layer, of as many values as units."""
    layers = [pa.field(f"layer_{layer}", pa.list_(pa.float32(), w), False) for layer, w in widths.items()]
    return pa.schema([pa.field("sent_id", pa.int64(), False), *layers])


def layer_widths(activations: pa.Schema) -> dict[int, int]:
    """Return the units of each layer, by the schema of `activations/`."""
    layers = [field for field in activations if field.name.startswith("layer_")]
    return {int(field.name.removeprefix("layer_")): field.type.list_size for field in layers}
