"""The rows of the published tables neurons/, topk/ and topk_by_dataset/, computed from all shards together."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch

from ops.arrays import Bools, Float32s, Float64s, Int16s, Int32s, Int64s
from ops.reducers.moments import Moments
from ops.reducers.top_k import EMPTY, decode_keys
from ops.schema import group_rows, schema
from ops.topk.neurons import POLES
from ops.topk.partial_file import by_neuron
from ops.topk.silent import is_silent


class PoleWinners(NamedTuple):
    """The winners of neurons at one pole, each `[neurons, k]`, best first; `filled` marks the slots with a winner."""

    activation: Float32s
    sent_id: Int64s
    filled: Bools


def decode_winners(keys: torch.Tensor, pole: str) -> PoleWinners:
    """Return the winners of a reducer's result `[neurons, k]`; the reducer's negation at the bottom is undone."""
    values, ids = decode_keys(keys)
    values = values if pole == "top" else 0.0 - values
    return PoleWinners(values.numpy(), ids.numpy(), (keys != EMPTY).numpy())


def neuron_rows(
    layer: Int16s,
    unit: Int32s,
    moments: Moments,
    winners: dict[str, PoleWinners],
    edges: Float32s,
    histogram: Int64s,
    largest: Float64s,
    first: int = 1,
    tokens_active: Int64s | None = None,
) -> pa.Table:
    """Return the rows of `neurons/`; the threshold and mean of a pole without winners are null.

    Args:
        layer, unit: the layer and unit of each neuron, `[neurons]`.
        moments: the moments over all scored sentences, at least one.
        winners: the winners of each pole; the last winner's activation is the pole's threshold.
        edges: the histogram's inner edges, `[neurons, bins - 1]`.
        histogram: the histogram's counts, `[neurons, bins]`.
        largest: the largest absolute activation of each layer from layer `first` on, `[layers]`.
        first: the layer of the first entry of `largest`.
        tokens_active: number of tokens at which each sparse feature is active, `[neurons]`; None if units are not
            sparse. The first bin of a sparse feature's histogram counts the sentences in which it is inactive.
    """
    size = len(layer)
    columns = {
        "layer": pa.array(layer),
        "unit": pa.array(unit),
        "n": pa.array(np.full(size, moments.n)),
        "mean": pa.array(moments.mean),
        "std": pa.array(moments.std),
        "skew": pa.array(moments.skew, from_pandas=True),
        "kurtosis": pa.array(moments.kurtosis, from_pandas=True),
        "min": pa.array(moments.min),
        "max": pa.array(moments.max),
        "histogram_edges": by_neuron(edges),
        "histogram_counts": by_neuron(histogram),
    }
    for pole in POLES:
        threshold, mean = pa.nulls(size, pa.float32()), pa.nulls(size, pa.float64())
        if pole in winners:
            values, _, filled = winners[pole]
            count = filled.sum(1)
            none = count == 0  # a sparse feature that is never active
            threshold = pa.array(values[np.arange(size), count - 1], mask=none)
            mean = pa.array(np.where(filled, values.astype(np.float64), 0).sum(1) / np.maximum(count, 1), mask=none)
        columns |= {f"{pole}_threshold": threshold, f"{pole}_mean": mean}
    columns |= {"n_active": pa.nulls(size, pa.int64()), "tokens_active": pa.nulls(size, pa.int64())}
    if tokens_active is not None:
        columns |= {"n_active": pa.array(moments.n - histogram[:, 0]), "tokens_active": pa.array(tokens_active)}
    columns["is_silent"] = pa.array(is_silent(layer, moments.std, largest, first))
    return pa.table({name: columns[name] for name in schema("neurons").names})


def winner_rows(
    table: str, layer: Int16s, unit: Int32s, winners: Mapping[tuple[str, ...], PoleWinners]
) -> Iterator[pa.Table]:
    """Yield the rows of `topk/` or `topk_by_dataset/`, sorted by neuron, set and rank; no neuron is split.

    A yielded table contains the maximum number of neurons that fit into a row group, but at least one.

    Args:
        table: the table's name.
        layer, unit: the layer and unit of each neuron, `[neurons]`, ascending.
        winners: the sets of winners by pole, or by pole and data set.
    """
    if not winners:
        return
    keys, sets = zip(*sorted(winners.items()), strict=True)
    sizes = [own.filled.shape[1] for own in sets]
    rank = np.concatenate([np.arange(1, size + 1) for size in sizes])
    code = np.repeat(np.arange(len(sets)), sizes)
    step = max(group_rows(table) // len(rank), 1)
    names = schema(table).names
    for start in range(0, len(layer), step):
        rows = slice(start, start + step)
        values, ids, filled = (np.concatenate([own[i][rows] for own in sets], 1) for i in range(3))
        lengths = filled.sum(1)
        codes = pa.array(np.broadcast_to(code, filled.shape)[filled], pa.int16())
        columns = [
            np.repeat(layer[rows], lengths),
            np.repeat(unit[rows], lengths),
            *(pa.array(own, pa.string()).take(codes) for own in zip(*keys, strict=True)),
            pa.array(np.broadcast_to(rank, filled.shape)[filled], pa.int32()),
            values[filled],
            ids[filled],
        ]
        yield pa.table(columns, names)
