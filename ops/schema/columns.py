"""How a table and its columns are described, and the columns that several tables share."""

from dataclasses import dataclass

import pyarrow as pa

INT16, INT32, INT64 = pa.int16(), pa.int32(), pa.int64()
FLOAT32, FLOAT64 = pa.float32(), pa.float64()
STRING, BOOL = pa.string(), pa.bool_()
STRINGS = pa.list_(pa.string())
META = pa.struct([])  # its fields are the metadata keys of a run's sources


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: its name.
        type: its Arrow type.
        meaning: a short description, with the unit.
        nullable: whether it may be null.
    """

    name: str
    type: pa.DataType
    meaning: str
    nullable: bool = False

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return bool(pa.types.is_integer(self.type) or pa.types.is_floating(self.type))


@dataclass(frozen=True)
class TableSpec:
    """One table.

    Attributes:
        row: what a row is.
        columns: its columns in order.
        order: the columns it is sorted by.
        rows_per_group: the maximum number of rows of a row group.
    """

    row: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    rows_per_group: int = 65_536

    @property
    def arrow(self) -> pa.Schema:
        """The table as an Arrow schema, in which `meta` has no fields yet."""
        return pa.schema([pa.field(c.name, c.type, c.nullable) for c in self.columns])


LAYER = Column("layer", INT16, "layer, counted from 1")
NEURON = (
    Column("layer", INT16, "layer, counted from 1 (0 would be the embedding output)"),
    Column("unit", INT32, "unit within the layer, counted from 0"),
)
POLE = Column("pole", STRING, "`top`: the highest activations; `bottom`: the lowest")
