"""The worker of `topk` that merges the partial files of the shards into tables, by ranges of neurons."""

from functools import partial

import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.stage.outputs import shard_file
from jobs.stage.ranges import range_part
from jobs.stage.step import Made
from jobs.topk.score import PILOT_FILE
from ops.arrays import Float64s
from ops.errors import one_line
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.neurons import Neurons
from ops.topk.partial_file import DAMAGE, MERGED_COLUMNS, read_matrix
from ops.topk.range_sums import RangeSums

TABLES, BY_DATASET = ("neurons", "topk"), "topk_by_dataset"
SHARDS_AHEAD = 2  # shards that a worker reads ahead


def tables_of(datasets: Datasets) -> tuple[str, ...]:
    """Return the tables that are written in parts, one for each range of neurons."""
    return (*TABLES, BY_DATASET) if datasets.k else TABLES


class RangeMerger:
    """Merges the winners, moments and histograms of all shards for ranges of neurons."""

    def __init__(
        self,
        store: Store,
        neurons: Neurons,
        shards: int,
        k: int,
        poles: tuple[str, ...],
        largest: Float64s,
        datasets: Datasets = NO_DATASETS,
    ) -> None:
        self.store, self.neurons, self.shards, self.largest, self.datasets = store, neurons, shards, largest, datasets
        self.k, self.poles = k, poles
        torch.set_num_threads(1)

    def __call__(self, item: Item) -> Made | Item:
        """Merge one range in the order of the shards, so that rounding is always the same; or say which are damaged."""
        sums = RangeSums(item["first"], item["stop"], self.k, self.poles, self.datasets)
        damaged: dict[int, str] = {}
        shards = side_by_side(partial(self._read, item["range"]), range(self.shards), SHARDS_AHEAD)
        for shard, read in enumerate(shards):
            if isinstance(read, str):
                damaged[shard] = read
            else:
                sums.update(read)
        if damaged:
            return {"damaged": damaged}
        with self.store.parquet(PILOT_FILE.path) as file:
            edges = read_matrix(file.read_row_group(item["range"]), "edges")
        tables = sums.tables(self.neurons, edges, self.largest)
        return {range_part(table, item): tables[table] for table in tables_of(self.datasets)}

    def _read(self, part: int, shard: int) -> pa.Table | str:
        """Return a range's part of a shard's partial file, or the error message if it cannot be read."""
        try:
            with self.store.parquet(shard_file("topk", shard).path) as file:
                return file.read_row_group(part, columns=MERGED_COLUMNS)
        except DAMAGE as error:
            return one_line(error, 100)
