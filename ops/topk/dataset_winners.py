"""Each pole's winners so far within each data set, among the sentences that one worker has scored."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import torch

from ops.arrays import Float32s
from ops.model.batches import to_device
from ops.reducers.top_k import TopK
from ops.shards import Ids
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.partial_file import winners_in_shard


class DatasetWinners:
    """One reducer for each pole and data set, which is updated only with the sentences of that data set.

    A sentence that is beaten by `datasets.k` other sentences of its data set cannot win there. This holds whichever
    worker scored the sentences, and in whatever order.

    Args:
        datasets: the data sets that have their own winners.
        poles: `top`, `bottom` or both.
        make: returns an empty reducer that keeps `datasets.k` winners of each unit.
    """

    def __init__(
        self,
        datasets: Datasets = NO_DATASETS,
        poles: Sequence[str] = (),
        make: Callable[[], TopK] | None = None,
    ) -> None:
        self.datasets = datasets
        self.reducers: list[dict[str, TopK]] = [{p: make() for p in poles} for _ in datasets.names] if make else []

    def update(self, ids: Ids, numbers: torch.Tensor, values: dict[str, torch.Tensor]) -> None:
        """Update the reducers with some sentences.

        Args:
            ids: the sentences' ids, `[sentences]`.
            numbers: the same ids on the reducers' device.
            values: for each pole, the input of that pole's reducers, `[sentences, neurons]` float32.
        """
        if not self.reducers:
            return
        for place, rows in self.datasets.split(ids):
            some = None if len(rows) == len(ids) else to_device(rows, numbers.device)
            for pole, reducer in self.reducers[place].items():
                if some is None:
                    reducer.update(values[pole], numbers)
                else:
                    reducer.update(values[pole].index_select(0, some), numbers.index_select(0, some))

    def raise_bounds(self, bounds: Sequence[tuple[Float32s, Float32s]]) -> None:
        """Adopt bounds for each complete data set: pairs of the top's and the bottom's bound, each `[neurons]`."""
        for reducers, (top, bottom) in zip(self.reducers, bounds, strict=True):
            for pole, bound in (("top", top), ("bottom", -bottom)):
                if pole in reducers:
                    reducers[pole].raise_bound(torch.from_numpy(bound))

    def raise_floor(self, least: float) -> None:
        """Ignore activations below `least` at the pole `top` from now on."""
        for reducers in self.reducers:
            reducers["top"].raise_bound(torch.full_like(reducers["top"].bound, least))

    def candidates(self, first: int, stop: int) -> "SpanCandidates | None":
        """Return the data sets' winners so far among the sentences from `first` to `stop` - 1.

        It is None if no data set has its own winners.
        """
        if not self.reducers:
            return None
        return SpanCandidates(first, stop, [self.reducers[place] for place in self.datasets.in_span(first, stop)])


class SpanCandidates:
    """Winners so far within data sets, restricted to one range of ids; valid until the reducers are updated again."""

    def __init__(self, first: int, stop: int, reducers: list[dict[str, TopK]]) -> None:
        self.first, self.stop, self.reducers = first, stop, reducers
        self.keys = [{pole: reducer.candidates() for pole, reducer in own.items()} for own in reducers]

    def columns(self, pole: str, neurons: slice) -> tuple[pa.Array, pa.Array]:
        """Return activations and ids as list columns with one list for each neuron.

        A list contains the winners of one data set after another.

        Args:
            pole: `top` or `bottom`; at the bottom, activations are negated, as in the reducers.
            neurons: the range of neurons.
        """
        found = [
            winners_in_shard(keys[pole][neurons], self.first, self.stop, own[pole].bound[neurons])
            for keys, own in zip(self.keys, self.reducers, strict=True)
        ]
        return joined([own for own, _ in found], pa.float32(), neurons), joined(
            [own for _, own in found], pa.int64(), neurons
        )


def joined(columns: Sequence[pa.ListArray], values: pa.DataType, rows: slice) -> pa.ListArray:
    """Concatenate list columns row by row: each list of the result joins the lists of that row.

    Args:
        columns: any number of list columns with the same number of rows.
        values: the type of the lists' items.
        rows: the range of rows; its length is used only if there is no column.
    """
    if len(columns) == 1:
        return columns[0]
    if not columns:
        return pa.ListArray.from_arrays(np.zeros(rows.stop - rows.start + 1, np.int32), pa.array([], values))
    row = np.concatenate([np.repeat(np.arange(len(own)), own.value_lengths().to_numpy()) for own in columns])
    order = np.argsort(row, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(columns[0])))]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays([own.flatten() for own in columns]).take(pa.array(order)))
