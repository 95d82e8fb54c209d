"""The published tables neurons/, topk/ and topk_by_dataset/, from the sums of all shards for a range of neurons."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Int16s, Int32s, Int64s
from ops.reducers.moments import Moments
from ops.reducers.top_k import EMPTY, TopK, decode_keys
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.neurons import POLES, Neurons
from ops.topk.partial_file import TOKENS_ACTIVE, by_neuron, read_counts, read_keys, read_moments
from ops.topk.silent import is_silent


class RangeSums:
    """The sums of one range of neurons; empty when created.

    Args:
        first, stop: the indices of the neurons, from `first` to `stop` - 1.
        k: number of winners of each neuron and pole.
        poles: `top`, `bottom` or both.
        datasets: the data sets that also have their own winners.
    """

    def __init__(self, first: int, stop: int, k: int, poles: tuple[str, ...], datasets: Datasets = NO_DATASETS) -> None:
        self.first, self.stop = first, stop
        self.datasets = datasets
        self.winners: dict[tuple[str, ...], TopK] = {(pole,): TopK(stop - first, k) for pole in poles}
        self.within: dict[tuple[str, ...], TopK] = {
            (pole, name): TopK(stop - first, datasets.k) for pole in poles for name in datasets.names
        }
        self.moments, self.histogram = Moments.empty(stop - first), np.zeros(0, np.int64)
        self.tokens_active: Int64s | None = None

    def update(self, table: pa.Table) -> None:
        """Add a shard's rows for these neurons; rounding depends on the order of the shards."""
        for (pole,), best in self.winners.items():
            best.merge_keys(*read_keys(table, pole))
            if self.within:
                neuron, keys = read_keys(table, pole, within=True)
                for index, pairs in self.datasets.split(decode_keys(keys)[1].numpy()):
                    some = torch.from_numpy(pairs)
                    self.within[pole, self.datasets.names[index]].merge_keys(neuron[some], keys[some])
        self.moments = self.moments.merge(read_moments(table))
        if TOKENS_ACTIVE in table.column_names:
            active = table[TOKENS_ACTIVE].to_numpy()
            self.tokens_active = active if self.tokens_active is None else self.tokens_active + active
        counts = read_counts(table)
        self.histogram = self.histogram + counts if len(self.histogram) else counts.astype(np.int64)

    def tables(self, neurons: Neurons, edges: Float32s, largest: Float64s) -> dict[str, list[pa.Table]]:
        """Return the row groups of this range's part of `neurons` and `topk`, and of `topk_by_dataset` if it exists.

        Args:
            neurons: all neurons of the model.
            edges: the inner edges of this range's histograms, `[stop - first, bins - 1]`.
            largest: the largest absolute activation of each layer, `[layers]`.
        """
        layer, unit = neurons.layer_and_unit(np.arange(self.first, self.stop))
        winners, within = (
            {key: decode_winners(best.result(), key[0]) for key, best in sets.items()}
            for sets in (self.winners, self.within)
        )
        by_pole = {pole: own for (pole,), own in winners.items()}
        silent = is_silent(layer, self.moments.std, largest, neurons.first)
        rows = neuron_rows(layer, unit, self.moments, by_pole, edges, self.histogram, silent, self.tokens_active)
        tables = {"neurons": [rows], "topk": list(winner_rows("topk", layer, unit, winners))}
        if self.datasets.k:
            tables["topk_by_dataset"] = list(winner_rows("topk_by_dataset", layer, unit, within))
        return tables


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
    silent: Bools,
    tokens_active: Int64s | None = None,
) -> pa.Table:
    """Return the rows of `neurons/`; the threshold and mean of a pole without winners are null.

    Args:
        layer, unit: the layer and unit of each neuron, `[neurons]`.
        moments: the moments over all scored sentences, at least one.
        winners: the winners of each pole; the last winner's activation is the pole's threshold.
        edges: the histogram's inner edges, `[neurons, bins - 1]`.
        histogram: the histogram's counts, `[neurons, bins]`.
        silent: which neurons are silent, `[neurons]`.
        tokens_active: number of tokens at which each sparse feature is active, `[neurons]`; None if units are not
            sparse. The first bin of a sparse feature's histogram counts the sentences in which it is inactive.
    """
    size, none = len(layer), [None] * len(layer)
    columns: dict[str, Any] = {"layer": layer, "unit": unit, "n": np.full(size, moments.n), "is_silent": silent}
    columns |= {name: getattr(moments, name) for name in ("mean", "std", "skew", "kurtosis", "min", "max")}
    columns |= {"histogram_edges": by_neuron(edges), "histogram_counts": by_neuron(histogram)}
    for pole in POLES:
        threshold, mean = none, none
        if pole in winners:
            values, _, filled = winners[pole]
            count = filled.sum(1)
            never = count == 0  # a sparse feature that is never active
            threshold = pa.array(values[np.arange(size), count - 1], mask=never)
            mean = pa.array(np.where(filled, values.astype(np.float64), 0).sum(1) / np.maximum(count, 1), mask=never)
        columns |= {f"{pole}_threshold": threshold, f"{pole}_mean": mean}
    active = (none, none) if tokens_active is None else (moments.n - histogram[:, 0], tokens_active)
    return schema.table("neurons", columns | dict(zip(("n_active", "tokens_active"), active, strict=True)))


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
    sizes = [winner_set.filled.shape[1] for winner_set in sets]
    rank = np.concatenate([np.arange(1, size + 1) for size in sizes])
    code = np.repeat(np.arange(len(sets)), sizes)
    step = max(schema.group_rows(table) // len(rank), 1)
    names = schema.schema(table).names
    for start in range(0, len(layer), step):
        rows = slice(start, start + step)
        values, ids, filled = (np.concatenate([winner_set[i][rows] for winner_set in sets], 1) for i in range(3))
        lengths = filled.sum(1)
        codes = pa.array(np.broadcast_to(code, filled.shape)[filled], pa.int16())
        columns = [
            np.repeat(layer[rows], lengths),
            np.repeat(unit[rows], lengths),
            *(pa.array(labels, pa.string()).take(codes) for labels in zip(*keys, strict=True)),
            pa.array(np.broadcast_to(rank, filled.shape)[filled], pa.int32()),
            values[filled],
            ids[filled],
        ]
        yield pa.table(columns, names)
