"""Every table: its columns with types and meanings, what may be null, and its sort order."""

import pyarrow as pa

from ops.schema.columns import META, Column, TableSpec
from ops.schema.main_tables import MAIN_TABLES
from ops.schema.mixing_tables import MIXING_TABLES
from ops.schema.psi_tables import PSI_TABLES

__all__ = ["META", "SCHEMA_VERSION", "TABLES", "Column", "TableSpec", "activations_schema", "group_rows", "schema"]

SCHEMA_VERSION = "1"
TABLES = {**MAIN_TABLES, **MIXING_TABLES, **PSI_TABLES}


def schema(table: str) -> pa.Schema:
    """Return a table's Arrow schema."""
    return TABLES[table].arrow


def group_rows(table: str) -> int:
    """Return the most rows that a row group of the table may hold."""
    return TABLES[table].rows_per_group if table in TABLES else 1_024


def activations_schema(widths: tuple[int, ...]) -> pa.Schema:
    """Return the schema of `activations/`: a sentence, then one vector of `widths[i]` values for layer i + 1."""
    layers = [pa.field(f"layer_{i + 1}", pa.list_(pa.float32(), w), False) for i, w in enumerate(widths)]
    return pa.schema([pa.field("sent_id", pa.int64(), False), *layers])
