"""One shard's part of the mixing tables: the moments of groups of tokens, and the rows of all tokens."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from ops.mixing.shard import MixingResult
from ops.reducers.grouped_moments import GroupedMoments
from ops.schema import group_rows, schema
from ops.storage.arrays import read_arrays, write_arrays

TOKENS = "mixing/tokens"

Totals = dict[str, GroupedMoments]  # by kind of group, for each kind that has tokens


def to_table(result: MixingResult) -> pa.Table:
    """Return a shard's moments as a table of arrays."""
    each = result.moments.items()
    return write_arrays(**{f"{kind}/{name}": values for kind, own in each for name, values in vars(own).items()})


def merge(tables: Iterable[pa.Table]) -> Totals:
    """Merge the tables of shards in the order given, so that rounding is the same in every run."""
    totals: Totals = {}
    for arrays in map(read_arrays, tables):
        for kind in dict.fromkeys(name.partition("/")[0] for name in arrays):
            moments = GroupedMoments(**{one.name: arrays[f"{kind}/{one.name}"] for one in fields(GroupedMoments)})
            totals[kind] = totals[kind].merge(moments) if kind in totals else moments
    return totals


def token_rows(result: MixingResult, layers: int, strings: list[str]) -> Iterator[pa.Table]:
    """Yield the rows of `mixing/tokens` of one shard, in order, in blocks of complete sequences.

    Args:
        result: the result of a shard that was measured with `keep`.
        layers: number of layers.
        strings: the string of each token id.
    """
    block: list[pa.Table] = []
    block_rows = 0
    for sent_id in sorted(result.kept):
        ids, ratios = result.kept[sent_id]
        rows = len(ids) * layers
        block.append(_sequence(sent_id, [strings[i] for i in ids], ratios.reshape(rows, -1), layers))
        block_rows += rows
        if block_rows >= group_rows(TOKENS):
            yield pa.concat_tables(block)
            block, block_rows = [], 0
    if block:
        yield pa.concat_tables(block)


def _sequence(sent_id: int, tokens: list[str], ratios: Any, layers: int) -> pa.Table:
    rows = len(ratios)
    stop = pa.array(ratios[:, 2]) if ratios.shape[1] > 2 else pa.nulls(rows, pa.float32())
    columns = [
        pa.array(np.full(rows, sent_id)),
        pa.array(np.repeat(np.arange(len(tokens), dtype=np.int32), layers)),
        pa.array(np.repeat(np.array(tokens, object), layers), pa.string()),
        pa.array(np.tile(np.arange(1, layers + 1, dtype=np.int16), len(tokens))),
        pa.array(ratios[:, 0]),
        pa.array(ratios[:, 1]),
        stop,
    ]
    return pa.Table.from_arrays(columns, schema=schema(TOKENS))
