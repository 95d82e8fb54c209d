"""The published mixing tables, from the merged moments."""

from typing import Any

import pyarrow as pa

from ops import schema
from ops.mixing.decomposition import LAYER_STAGES
from ops.mixing.partial_file import Totals


def ratio_rows(totals: Totals, layers: int, names: tuple[str, ...]) -> pa.Table:
    """Return `mixing/ratios`: a row for each layer, stage and token class that occurs."""
    return _rows("mixing/ratios", totals, layers, names, "class", [n for n in names if n in LAYER_STAGES])


def length_rows(totals: Totals, layers: int, names: tuple[str, ...]) -> pa.Table:
    """Return `mixing/lengths`: a row for each layer, stage and length of the sequences."""
    return _rows("mixing/lengths", totals, layers, names, "length", [n for n in names if n in LAYER_STAGES])


def norm_rows(totals: Totals, layers: int, names: tuple[str, ...]) -> pa.Table:
    """Return `mixing/norms`: a row for each layer, quantity and token class."""
    return _rows("mixing/norms", totals, layers, names, "class", [n for n in names if n not in LAYER_STAGES])


def _rows(table: str, totals: Totals, layers: int, names: tuple[str, ...], kind: str, wanted: list[str]) -> pa.Table:
    """Return the moments as rows of a table; the moments' values are ordered by layer and then by `names`."""
    first, second, third = schema.TABLES[table].order
    rows: list[dict[str, Any]] = []
    for (own, key), moments in totals.items():
        if own == kind:
            std = moments.std
            for layer in range(layers):
                for name in wanted:
                    place = layer * len(names) + names.index(name)
                    rows.append(
                        {
                            first: layer + 1,
                            second: name,
                            third: int(key) if kind == "length" else key,
                            "n": moments.n,
                            "mean": moments.mean[place],
                            "std": std[place],
                        }
                    )
    return schema.table(table, rows)
