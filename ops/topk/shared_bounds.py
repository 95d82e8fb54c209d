"""Bounds that the workers of `topk` share: if they are lost, partial files are larger but winners are the same."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from ops.arrays import Float32s, Integers
from ops.errors import one_line
from ops.reducers.thresholds import SharedBound
from ops.shards import Shards
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import FINGERPRINT, Store
from ops.topk.datasets import Datasets
from ops.topk.partial_file import HISTOGRAM, read_counts, read_of_all

_LOST = (OSError, pa.ArrowException, KeyError, ValueError)
GROWTH = 1.05  # new bounds are posted for each of the first shards, then for every further 5 % of shards


class CorpusBounds:
    """The bounds of the corpus, followed by those of each data set that has its own winners.

    A shard's histogram cannot be divided between data sets, so only shards of a single data set count towards its
    bounds. The corpus and each data set need memory for one histogram of all neurons, with four bytes for each bin.

    Args:
        edges: the histograms' inner edges, `[neurons, bins - 1]`.
        k: number of winners of each neuron and pole.
        datasets: the data sets that have their own winners.
        corpus: the shards of the corpus.
    """

    def __init__(self, edges: Float32s, k: int, datasets: Datasets, corpus: Shards) -> None:
        self.corpus, self.datasets = corpus, datasets
        self.all = SharedBound(edges, k)
        self.within = [SharedBound(edges, datasets.k) for _ in datasets.names]

    def update(self, shard: int, counts: Integers) -> None:
        """Take in a finished shard's histogram, `[neurons, bins]`."""
        self.all.update(shard, counts)
        index = self.datasets.whole_span(*self.corpus.span(shard))
        if index is not None:
            self.within[index].update(shard, counts)

    def result(self) -> tuple[Float32s, ...]:
        """Return the pair of bounds of the corpus, followed by the pair of each data set."""
        return tuple(bound for shared in (self.all, *self.within) for bound in shared.result())


@dataclass
class BoundPublisher:
    """Adds up the histograms of committed shards on the driver and posts the bounds that follow from them.

    The histograms are read from the partial files. So the bounds are the same after a restart, a shard counts once
    however often it was scored, and only committed shards count.

    Attributes:
        store: the run's folder.
        path: the path at which the bounds are posted.
        fingerprint: the fingerprint of the stage.
        shared: the object that sums the histograms, still empty.
        shard_path: returns the path of a shard's partial file.
        warn: called once, with a line that says why bounds are not shared, if posting fails.
        warned: whether it was called.
        posted: number of shards that were counted when bounds were last posted.
    """

    store: Store
    path: str
    fingerprint: str
    shared: CorpusBounds
    shard_path: Callable[[int], str]
    warn: Callable[[str], None]
    warned: bool = False
    posted: int = 0

    def add(self, waiting: deque[int]) -> None:
        """Count the committed shards that are waiting, if any, and post the new bounds if they are due.

        If that fails, workers continue without new bounds.
        """
        shards = [waiting.popleft() for _ in range(len(waiting))]
        try:
            for shard, counts in zip(shards, side_by_side(self._read, shards, LARGE_FILES_AT_ONCE), strict=True):
                self.shared.update(shard, counts)
            counted = len(self.shared.all.shards)
            if counted <= self.posted * GROWTH:
                return
            bounds = self.shared.result()
            table = pa.table(list(bounds), [str(index) for index in range(len(bounds))])
            table = table.replace_schema_metadata({FINGERPRINT: self.fingerprint.encode()})
            self.store.commit(self.path, lambda path: pq.write_table(table, path, write_page_checksum=True))
            self.posted = counted
        except _LOST as error:
            if not self.warned:
                self.warned = True
                why = f"({one_line(error)}); results are the same, files larger"
                self.warn(f"topk: thresholds are not shared {why}")

    def _read(self, shard: int) -> Integers:
        return read_counts(read_of_all(self.store, self.shard_path(shard), HISTOGRAM))


class BoundReader:
    """Returns the posted bounds to a worker if they are newer than the last bounds returned, otherwise None.

    The arguments are those of the `BoundPublisher`, and the number of neurons.
    """

    def __init__(self, store: Store, path: str, fingerprint: str, neurons: int) -> None:
        self.store, self.path, self.fingerprint, self.neurons = store, path, fingerprint, neurons
        self.seen: object = None

    def __call__(self) -> tuple[Float32s, ...] | None:
        """Return newer bounds, or None if there are none or they cannot be read."""
        try:
            info = self.store.filesystem.get_file_info(self.store.path(self.path))
            version = (info.type, info.mtime_ns, info.size)
            if not info.is_file or version == self.seen:
                return None
            with self.store.parquet(self.path) as file:
                table = file.read()
                named = (file.metadata.metadata or {}).get(FINGERPRINT)
            if named != self.fingerprint.encode() or table.num_rows != self.neurons:
                return None
            self.seen = version
            # Copies, because torch does not accept read-only memory.
            return tuple(column.to_numpy().copy() for column in table.columns)
        except _LOST:
            return None
