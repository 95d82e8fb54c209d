"""The worker of `topk` that merges the partial files of the shards into tables, by ranges of neurons."""

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from jobs.engine.item import Item
from jobs.stage.outputs import TablePart, shard_file
from jobs.stage.ranges import range_part, table_ranges
from jobs.topk.score import PILOT_FILE
from ops.arrays import Float64s
from ops.errors import one_line
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.neurons import NEURONS_PER_PART, Neurons
from ops.topk.partial_file import DAMAGE, MERGED_COLUMNS, read_matrix
from ops.topk.tables import RangeSums

TABLES, BY_DATASET = ("neurons", "topk"), "topk_by_dataset"
# Of a worker that merges: the shards it reads ahead, the bytes of a slot for a winner, and the bytes of a pair that is
# read.
SHARDS_AHEAD, KEY_BYTES, PAIR_BYTES = 2, 12, 12
MERGER_BYTES = 1 << 30


def ranges_together(ranges: int, workers: int | None, k: int, poles: int) -> int:
    """Return how many ranges of neurons to merge each time the partial files are opened.

    This is the largest number that leaves each worker an item and whose data fit into a gigabyte. The data are the
    winners so far of each range, and at most the same number again for each shard that is read ahead. If the number of
    workers is not fixed (None), the result is 1.

    >>> [ranges_together(36, workers, k, 2) for workers, k in ((2, 100), (8, 100), (8, 20_000), (None, 100))]
    [18, 5, 2, 1]
    """
    each = poles * k * NEURONS_PER_PART * (KEY_BYTES + SHARDS_AHEAD * PAIR_BYTES)
    return max(min(-(-ranges // workers) if workers else 1, MERGER_BYTES // each), 1)


def tables_of(datasets: Datasets) -> tuple[str, ...]:
    """Return the tables that are written in parts, one for each range of neurons."""
    return (*TABLES, BY_DATASET) if datasets.k else TABLES


def range_items(neurons: int, together: int = 1, tables: tuple[str, ...] = TABLES) -> list[Item]:
    """Return the items of the merge into these tables for `neurons` neurons, some ranges at a time."""
    ranges = table_ranges(neurons)
    groups = (ranges[start : start + together] for start in range(0, len(ranges), together))
    return [{"ranges": group, "tables": tables} for group in groups]


def merged_outputs(item: Item) -> list[TablePart]:
    """Return the table parts that an item writes, for all its ranges of neurons."""
    return [range_part(table, part) for part in item["ranges"] for table in item["tables"]]


class RangeMerger:
    """Merges the winners, moments and histograms of all shards for some ranges of neurons at a time."""

    def __init__(
        self,
        store: Store,
        neurons: Neurons,
        shards: int,
        k: int,
        poles: tuple[str, ...],
        fingerprint: str,
        largest: Float64s,
        datasets: Datasets = NO_DATASETS,
    ) -> None:
        self.store, self.neurons, self.shards, self.largest, self.datasets = store, neurons, shards, largest, datasets
        self.k, self.poles, self.fingerprint = k, poles, fingerprint
        torch.set_num_threads(1)

    def __call__(self, item: Item) -> Item:
        """Merge an item's ranges in the order of the shards, so that rounding is always the same."""
        ranges = item["ranges"]
        sums = [RangeSums(part["first"], part["stop"], self.k, self.poles, self.datasets) for part in ranges]
        damaged: dict[int, str] = {}
        read = partial(self._read, [part["range"] for part in ranges])
        opened = side_by_side(self._open, range(self.shards))
        for shard, (tables, why) in enumerate(side_by_side(read, opened, SHARDS_AHEAD)):
            if why:
                damaged[shard] = why
            for range_sums, table in zip(sums, tables, strict=False):
                range_sums.update(table)
        if damaged:
            return {"damaged": damaged}
        with self.store.parquet(PILOT_FILE.path) as file:
            edges = [read_matrix(file.read_row_group(part["range"]), "edges") for part in ranges]
        for part, range_sums, range_edges in zip(ranges, sums, edges, strict=True):
            range_tables = range_sums.tables(self.neurons, range_edges, self.largest)
            for table in item["tables"]:
                range_part(table, part).commit(self.store, range_tables[table], self.fingerprint)
        return {"damaged": {}}

    def _open(self, shard: int) -> pq.ParquetFile | str:
        """Return a shard's partial file, or the error message if it cannot be opened."""
        try:
            return self.store.parquet(shard_file("topk", shard).path)
        except DAMAGE as error:
            return one_line(error, 100)

    def _read(self, parts: list[int], opened: pq.ParquetFile | str) -> tuple[list[pa.Table], str]:
        """Read some parts of a shard's partial file in one request; return them and an error message, if any."""
        if isinstance(opened, str):
            return [], opened
        try:
            with opened as file:
                together = file.read_row_groups(parts, columns=MERGED_COLUMNS)
                stops = np.cumsum([file.metadata.row_group(part).num_rows for part in parts]).tolist()
        except DAMAGE as error:
            return [], one_line(error, 100)
        return [together.slice(first, stop - first) for first, stop in zip([0, *stops], stops, strict=False)], ""
