"""Each pole's winners so far within each data set, among the sentences that one worker has scored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import torch

from ops.model.batches import to_device
from ops.reducers.top_k import EMPTY, MAX_IDS, TopK, encode_keys
from ops.shards import Ids
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.partial_file import winners_in_shard


@dataclass(frozen=True)
class DatasetWinners:
    """One reducer for each pole and data set, which is updated only with the sentences of that data set.

    A sentence that is beaten by `datasets.k` other sentences of its data set cannot win there. This holds whichever
    worker scored the sentences, and in whatever order.

    Attributes:
        datasets: the data sets that have their own winners.
        reducers: for each of them the reducer of each pole, empty at first.
    """

    datasets: Datasets = NO_DATASETS
    reducers: Sequence[dict[str, TopK]] = ()

    def update(self, ids: Ids, numbers: torch.Tensor, values: dict[str, torch.Tensor]) -> None:
        """Update the reducers with some sentences.

        Args:
            ids: the sentences' ids, `[sentences]`.
            numbers: the same ids on the reducers' device.
            values: for each pole, the input of that pole's reducers, `[sentences, neurons]` float32.
        """
        for place, rows in self.datasets.split(ids):
            some = to_device(rows, numbers.device)
            for pole, reducer in self.reducers[place].items():
                reducer.update(values[pole].index_select(0, some), numbers.index_select(0, some))

    def candidates(self, first: int, stop: int) -> Callable[[str, slice], tuple[pa.Array, pa.Array]]:
        """Return a function that returns the winners so far among the sentences from `first` to `stop` - 1.

        The function takes a pole and a range of neurons. It returns activations and ids as list columns with one list
        for each neuron, which contains the winners of all data sets. It is valid until the reducers are updated again.
        """
        reducers = [self.reducers[place] for place in self.datasets.in_span(first, stop)]
        every = [{pole: (own.candidates(), own.bound) for pole, own in each.items()} for each in reducers]

        def columns(pole: str, neurons: slice) -> tuple[pa.Array, pa.Array]:
            kept = [self.reducers[0][pole].keys[neurons, :0]]  # if no data set has sentences there
            for keys, bound in (each[pole] for each in every):
                lowest = encode_keys(bound[neurons], MAX_IDS - 1)[:, None]
                kept.append(torch.where(keys[neurons] >= lowest, keys[neurons], EMPTY))
            return winners_in_shard(torch.cat(kept, 1), first, stop, pole=pole)

        return columns
