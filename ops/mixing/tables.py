"""One shard's part of the mixing tables, and the published tables from the merged moments of all shards."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float64s
from ops.mixing.decomposition import LAYER_STAGES
from ops.mixing.shard import CLASS, LENGTH, MixingResult
from ops.mixing.token_classes import ALL, CLASSES
from ops.reducers.grouped_moments import GroupedMoments
from ops.storage.arrays import named_records, read_arrays

TOKENS = "mixing/tokens"
# For each table: the kind of its groups of tokens, and whether its measures are ratios (otherwise norms).
TABLES = {"mixing/ratios": (CLASS, True), "mixing/lengths": (LENGTH, True), "mixing/norms": (CLASS, False)}
Totals = dict[str, GroupedMoments]  # by kind of group, for each kind that has tokens


def merge(tables: Iterable[pa.Table]) -> Totals:
    """Merge the moments of shards in the order of their tables, so that rounding is the same in every run."""
    totals: Totals = {}
    for table in tables:
        for kind, moments in named_records(GroupedMoments, read_arrays(table)).items():
            totals[kind] = totals[kind].merge(moments) if kind in totals else moments
    return totals


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
                index = layer * len(names) + names.index(name)
                key = dict(zip(keys, (layer + 1, name, group), strict=True))
                rows.append({**key, "n": n, "mean": mean[index], "std": std[index]})
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


def token_rows(result: MixingResult, layers: int, strings: list[str]) -> Iterator[pa.Table]:
    """Yield the rows of `mixing/tokens` of a shard that was measured with `keep`, in blocks of complete sequences.

    `strings` are those of all token ids. The rows are in order.
    """
    names, sent_ids = pa.array(strings), np.array(sorted(result.kept), np.int64)
    lengths = np.array([len(result.kept[i][0]) for i in sent_ids.tolist()], np.int64)
    cuts = np.flatnonzero(np.diff(np.cumsum(lengths) * layers // schema.group_rows(TOKENS))) + 1
    for block in np.split(np.arange(len(sent_ids)), cuts) if len(sent_ids) else ():
        kept = [result.kept[i] for i in sent_ids[block].tolist()]
        ids, ratios = (np.concatenate(part) for part in zip(*kept, strict=True))
        position = np.concatenate([np.arange(length) for length in lengths[block]])
        stages = dict(zip(LAYER_STAGES, ratios.reshape(len(ids) * layers, -1).T, strict=False))
        columns = {
            "sent_id": np.repeat(sent_ids[block], lengths[block] * layers),
            "position": np.repeat(position, layers),
            "token": names.take(pa.array(np.repeat(ids, layers))),
            "layer": np.tile(np.arange(1, layers + 1), len(ids)),
            "attn_res_ln": pa.nulls(len(ids) * layers, pa.float32()),
        }
        yield schema.table(TOKENS, columns | stages)
