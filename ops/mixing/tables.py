"""The published mixing tables, from the merged moments."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pyarrow as pa

from ops import schema
from ops.arrays import Float64s
from ops.mixing.decomposition import LAYER_STAGES
from ops.mixing.partial_file import Totals
from ops.mixing.shard import CLASS, LENGTH
from ops.mixing.token_classes import ALL, CLASSES

# For each table: the kind of its groups of tokens, and whether its measures are ratios (otherwise norms).
TABLES = {"mixing/ratios": (CLASS, True), "mixing/lengths": (LENGTH, True), "mixing/norms": (CLASS, False)}


def mixing_tables(totals: Totals, layers: int, names: tuple[str, ...]) -> dict[str, pa.Table]:
    """Return `TABLES`: a row for each layer, measure and group of tokens that occurs.

    Args:
        totals: the merged moments, whose values are ordered by layer and then by `names`.
        layers, names: the number of layers, and the names of the measures (see `quantities`).
    """
    tables = {}
    for table, (kind, of_ratios) in TABLES.items():
        keys, wanted = schema.TABLES[table].order, [n for n in names if (n in LAYER_STAGES) == of_ratios]
        rows: list[dict[str, Any]] = []
        for group, n, mean, std in _groups(totals, kind):
            for layer, name in product(range(layers), wanted):
                place = layer * len(names) + names.index(name)
                key = dict(zip(keys, (layer + 1, name, group), strict=True))
                rows.append({**key, "n": n, "mean": mean[place], "std": std[place]})
        tables[table] = schema.table(table, rows)
    return tables


def _groups(totals: Totals, kind: str) -> Iterator[tuple[str | int, int, Float64s, Float64s]]:
    """Yield each group of a kind, its number of tokens, their mean and their standard deviation."""
    if kind not in totals:
        return
    moments = totals[kind]
    names: list[str | int] = [CLASSES[i] if kind == CLASS else i for i in moments.ids.tolist()]
    yield from zip(names, moments.count.tolist(), moments.mean, moments.std, strict=True)
    if kind == CLASS:
        whole = moments.joined()
        yield ALL, int(whole.count[0]), whole.mean[0], whole.std[0]
