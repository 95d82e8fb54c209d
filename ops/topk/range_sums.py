"""The sums of all shards' results for one range of neurons: winners so far, moments and histograms."""

import numpy as np
import pyarrow as pa
import torch

from ops.arrays import Float32s, Float64s, Int64s
from ops.reducers.moments import Moments
from ops.reducers.top_k import TopK, decode_keys
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.neurons import Neurons
from ops.topk.partial_file import TOKENS_ACTIVE, read_counts, read_keys, read_moments
from ops.topk.tables import decode_winners, neuron_rows, winner_rows


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
        self.winners = {(pole,): TopK(stop - first, k) for pole in poles}
        self.within = {(pole, name): TopK(stop - first, datasets.k) for pole in poles for name in datasets.names}
        self.moments, self.histogram = Moments.empty(stop - first), np.zeros(0, np.int64)
        self.tokens_active: Int64s | None = None

    def update(self, table: pa.Table) -> None:
        """Add a shard's rows for these neurons; rounding depends on the order of the shards."""
        for (pole,), best in self.winners.items():
            best.merge_keys(*read_keys(table, pole))
            if self.within:
                neuron, keys = read_keys(table, pole, within=True)
                for place, pairs in self.datasets.split(decode_keys(keys)[1].numpy()):
                    some = torch.from_numpy(pairs)
                    self.within[pole, self.datasets.names[place]].merge_keys(neuron[some], keys[some])
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
        rows = neuron_rows(
            layer, unit, self.moments, by_pole, edges, self.histogram, largest, neurons.first, self.tokens_active
        )
        tables = {"neurons": [rows], "topk": list(winner_rows("topk", layer, unit, winners))}
        if self.datasets.k:
            tables["topk_by_dataset"] = list(winner_rows("topk_by_dataset", layer, unit, within))
        return tables
