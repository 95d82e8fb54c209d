"""The published mixing tables, from the merged moments."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ops import schema
from ops.arrays import Float64s
from ops.mixing.decomposition import LAYER_STAGES
from ops.mixing.partial_file import Totals
from ops.mixing.shard import CLASS, LENGTH
from ops.mixing.token_classes import ALL, CLASSES


def ratio_rows(totals: Totals, layers: int, names: tuple[str, ...]) -> pa.Table:
    """Return `mixing/ratios`: a row for each layer, stage and token class that occurs."""
    return _rows("mixing/ratios", totals, layers, names, CLASS, [n for n in names if n in LAYER_STAGES])


def length_rows(totals: Totals, layers: int, names: tuple[str, ...]) -> pa.Table:
    """Return `mixing/lengths`: a row for each layer, stage and length of the sequences."""
    return _rows("mixing/lengths", totals, layers, names, LENGTH, [n for n in names if n in LAYER_STAGES])


def norm_rows(totals: Totals, layers: int, names: tuple[str, ...]) -> pa.Table:
    """Return `mixing/norms`: a row for each layer, quantity and token class."""
    return _rows("mixing/norms", totals, layers, names, CLASS, [n for n in names if n not in LAYER_STAGES])


def _rows(table: str, totals: Totals, layers: int, names: tuple[str, ...], kind: str, wanted: list[str]) -> pa.Table:
    """Return the moments as rows of a table; the moments' values are ordered by layer and then by `names`."""
    first, second, third = schema.TABLES[table].order
    rows: list[dict[str, Any]] = []
    for group, n, mean, std in _groups(totals, kind):
        for layer in range(layers):
            for name in wanted:
                place = layer * len(names) + names.index(name)
                key = {first: layer + 1, second: name, third: group}
                rows.append({**key, "n": n, "mean": mean[place], "std": std[place]})
    return schema.table(table, rows)


def _groups(totals: Totals, kind: str) -> Iterator[tuple[str | int, int, Float64s, Float64s]]:
    """Yield each group of a kind, its number of tokens, their mean and their standard deviation."""
    if kind not in totals:
        return
    moments = totals[kind]
    names: list[str | int] = [CLASSES[own] if kind == CLASS else own for own in moments.ids.tolist()]
    yield from zip(names, moments.count.tolist(), moments.mean, moments.std, strict=True)
    if kind == CLASS:
        whole = moments.joined()
        yield ALL, int(whole.count[0]), whole.mean[0], whole.std[0]
