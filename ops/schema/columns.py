"""How a table and its columns are described, and the columns that several tables share."""

from dataclasses import dataclass

import pyarrow as pa

INT8, INT16, INT32, INT64 = pa.int8(), pa.int16(), pa.int32(), pa.int64()
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


def interval(of: str = "", how: str = "", kind: pa.DataType = FLOAT64, nullable: bool = True) -> tuple[Column, Column]:
    """Return the columns of the ends of a value's 95 % interval; `how` says more about it.

    >>> [column.name for column in (*interval(), *interval("f1"))]
    ['low', 'high', 'f1_low', 'f1_high']
    """
    start = f"{of}_" if of else ""
    return (
        Column(f"{start}low", kind, f"lower end of its 95 % interval{how}", nullable),
        Column(f"{start}high", kind, "upper end of its 95 % interval", nullable),
    )


def measured(name: str, meaning: str, how: str = "") -> tuple[Column, Column, Column]:
    """Return the columns of a statistic that may be unknown, and of the ends of its interval."""
    return Column(name, FLOAT64, meaning, True), *interval(name, how)


def quantiles(nullable: bool = False) -> tuple[Column, ...]:
    """Return the columns of five quantiles of a measure."""
    return tuple(Column(f"q{share:02}", FLOAT64, f"{share} % quantile", nullable) for share in (5, 25, 50, 75, 95))
