"""Rows of tables as Python values, and the neurons that they are about."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

import pyarrow.compute as pc

Row = dict[str, Any]
Rows = list[Row]
Pair = tuple[int, int]
Key = tuple[int, int, str]

POLE = ("layer", "unit", "pole")


def key_of(row: Row) -> Key:
    """Return the layer, unit and pole of a row."""
    return row["layer"], row["unit"], row["pole"]


def name_of(row: Row) -> str:
    """Return a neuron and pole as people write it.

    >>> name_of({"layer": 3, "unit": 43, "pole": "top"})
    '3:43 top'
    """
    return f"{row['layer']}:{row['unit']} {row['pole']}"


def any_of(neurons: Iterable[Pair]) -> pc.Expression:
    """Return the condition for rows of any of these neurons."""
    return reduce(or_, ((pc.field("layer") == layer) & (pc.field("unit") == unit) for layer, unit in neurons))


def grouped(rows: Rows, columns: Sequence[str]) -> dict[Any, Rows]:
    """Return rows by their values in these columns."""
    found: dict[Any, Rows] = {}
    for row in rows:
        found.setdefault(tuple(row[c] for c in columns), []).append(row)
    return found
