"""Thresholds shared between the workers of `topk`: soft state, whose loss costs size and never a winner."""

from collections import deque
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from ops.arrays import Float32s, Integers
from ops.errors import one_line
from ops.reducers.thresholds import SharedBound
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import FINGERPRINT, Store
from ops.topk.partial_file import HISTOGRAM, read_counts, read_of_all

_LOST = (OSError, pa.ArrowException, KeyError, ValueError)


def is_due(counted: int, posted: int) -> bool:
    """Tell whether so many shards deserve new bounds: every one at first, then one for every 20 there are."""
    return counted > posted * 1.05


class BoundPublisher:
    """On the driver: adds up the histograms of committed shards and posts the bounds that follow from them.

    The histograms are read from the partial files, so that the bounds are the same after a restart, a shard counts
    once however often it was done, and only what is really in place counts.

    Args:
        store: the run's folder.
        path: where the bounds are posted.
        fingerprint: the stage's.
        shared: the sums, empty.
        shard_path: returns the path of a shard's partial file.
        warn: is called once with a line that says why bounds are not shared.
    """

    def __init__(
        self,
        store: Store,
        path: str,
        fingerprint: str,
        shared: SharedBound,
        shard_path: Callable[[int], str],
        warn: Callable[[str], None],
    ) -> None:
        self.store, self.path, self.fingerprint, self.shared = store, path, fingerprint, shared
        self.shard_path, self.warn = shard_path, warn
        self.warned = False
        self.posted = 0

    def add_all(self, waiting: deque[int]) -> None:
        """Take the committed shards that are waiting and do with them what `add` does; there may be none any more."""
        if shards := [waiting.popleft() for _ in range(len(waiting))]:
            self.add(shards)

    def add(self, shards: Sequence[int]) -> None:
        """Count some committed shards and post the new bounds if due; where that fails the workers do without."""
        try:
            for shard, counts in zip(shards, side_by_side(self._read, shards, LARGE_FILES_AT_ONCE), strict=True):
                self.shared.update(shard, counts)
            if not is_due(len(self.shared.shards), self.posted):
                return
            top, bottom = self.shared.result()
            table = pa.table({"top": top, "bottom": bottom}).replace_schema_metadata(
                {FINGERPRINT: self.fingerprint.encode()}
            )
            self.store.commit(self.path, lambda path: pq.write_table(table, path, write_page_checksum=True))
            self.posted = len(self.shared.shards)
        except _LOST as error:
            if not self.warned:
                self.warned = True
                why = f"({one_line(error)}); results are the same, files larger"
                self.warn(f"topk: thresholds are not shared {why}")

    def _read(self, shard: int) -> Integers:
        return read_counts(read_of_all(self.store, self.shard_path(shard), HISTOGRAM))


class BoundReader:
    """In a worker: returns the posted bounds where they are newer than the last it returned, else None."""

    def __init__(self, store: Store, path: str, fingerprint: str, neurons: int) -> None:
        self.store, self.path, self.fingerprint, self.neurons = store, path, fingerprint, neurons
        self.seen: object = None

    def __call__(self) -> tuple[Float32s, Float32s] | None:
        """Look; whatever goes wrong, there are no newer bounds."""
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
            # Copies: torch takes no memory that must not be written to.
            return table["top"].to_numpy().copy(), table["bottom"].to_numpy().copy()
        except _LOST:
            return None
