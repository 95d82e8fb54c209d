"""How tables and their columns are described, and the columns that several tables share."""

import re
from dataclasses import dataclass

import pyarrow as pa

STRINGS = pa.list_(pa.string())
# Types of columns besides Arrow's own. The fields of `meta` are the metadata keys of a run's sources.
_STRUCTS = {
    "meta": pa.struct([]),
    "typical": pa.struct(
        [
            ("kind", pa.string()), ("pattern", pa.string()), ("words", STRINGS), ("winners", pa.int32()),
            ("expected", pa.float32()), ("q", pa.float32()), ("docs", pa.int32()),
        ]
    ),
}  # fmt: skip

LAYER = "layer int16: layer, counted from 1"
NEURON = """
layer int16: layer, counted from 1 (0 would be the embedding output)
unit int32: unit within the layer, counted from 0
"""
NEURON_AND_POLE = f"""
{NEURON}
pole string: `top`: the highest activations; `bottom`: the lowest
"""

_TABLE = re.compile(r"(?P<name>\S+)(?: by (?P<order>\w+(?:, \w+)*))?(?: in groups of (?P<rows>\d+))?: (?P<row>.+)")
_COLUMN = re.compile(r"(?P<name>\w+) (?P<list>list\[)?(?P<type>\w+)\]?(?P<null>\?)?: (?P<meaning>.+)")


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        meaning: a short description, with the unit.
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


def tables(text: str) -> dict[str, TableSpec]:
    """Return the tables that a text describes, by name.

    The line that begins with `table` has the table's name, the columns that it is sorted by, the maximum number of rows
    of a row group if it is not the usual one, and what a row is. A line for each column follows: name, type and
    meaning. The type ends with `?` if the column may be null. Indentation and empty lines do not matter.

    Raises:
        ValueError: a line is not of this form.

    >>> means = tables('''
    ... table means by layer, unit in groups of 512: a neuron
    ...     layer int16: layer, counted from 1
    ...     unit int32: unit within the layer
    ...     mean float64?: its mean; null without sentences
    ...     words list[string]: words that it prefers
    ... ''')["means"]
    >>> means.row, means.order, means.rows_per_group
    ('a neuron', ('layer', 'unit'), 512)
    >>> means.columns[2]
    Column(name='mean', type=DataType(double), meaning='its mean; null without sentences', nullable=True)
    """
    specs = {}
    for block in text.split("\ntable ")[1:]:
        head, *lines = filter(None, (" ".join(line.split()) for line in block.splitlines()))
        table = _matched(_TABLE, head)
        columns = tuple(_column(_matched(_COLUMN, line)) for line in lines)
        order = tuple(table["order"].split(", ")) if table["order"] else ()
        rows = int(table["rows"] or TableSpec.rows_per_group)
        specs[table["name"]] = TableSpec(table["row"], columns, order, rows)
    return specs


def _matched(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    match = pattern.fullmatch(line)
    if match is None:
        raise ValueError(f"{line!r}: is not the line of a table or column")
    return match


def _column(line: re.Match[str]) -> Column:
    name = line["type"]
    kind = _STRUCTS[name] if name in _STRUCTS else pa.type_for_alias(name)
    return Column(line["name"], pa.list_(kind) if line["list"] else kind, line["meaning"], bool(line["null"]))


def interval(of: str = "", how: str = "", kind: str = "float64?") -> str:
    """Return the lines of the ends of a value's 95 % interval; `how` says more about it.

    >>> print(interval("f1"))
    f1_low float64?: lower end of its 95 % interval
    f1_high float64?: upper end of its 95 % interval
    """
    start = f"{of}_" if of else ""
    return f"""{start}low {kind}: lower end of its 95 % interval{how}
{start}high {kind}: upper end of its 95 % interval"""


def quantiles(kind: str = "float64") -> str:
    """Return the lines of five quantiles of a measure."""
    return "\n".join(f"q{share:02} {kind}: {share} % quantile" for share in (5, 25, 50, 75, 95))
