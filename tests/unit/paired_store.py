"""A folder whose files open in pairs alone, so that whoever opens one after another is found out."""

import threading

import pyarrow.parquet as pq

from ops.storage.store import Store

PATIENCE_S = 20.0


class PairedStore(Store):
    """A store that passes for object storage, and in which an open waits for another one, or fails."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.local = False
        self.pair = threading.Barrier(2)

    def parquet(self, name: str) -> pq.ParquetFile:
        """Open a file as soon as another thread opens one too.

        Raises:
            BrokenBarrierError: none did for so long.
        """
        self.pair.wait(PATIENCE_S)
        return super().parquet(name)
