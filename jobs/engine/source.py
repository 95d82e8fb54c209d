"""The items of a step as a source of Ray Data: one read task an item, one block each."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pyarrow as pa
from ray import cloudpickle
from ray.data import Datasource, ReadTask
from ray.data.block import BlockMetadata

from jobs.engine.item import Item

# Bytes that are stated for what is prepared of a sentence; Ray Data plans its memory by them.
PREPARED_BYTES = 400


class ItemSource(Datasource):  # type: ignore[misc]
    """One block of one row for each item: its `name`, `item` as JSON, and `prepared`, what was made of it, pickled.

    Args:
        name: shown by Ray.
        items: each with a name of its own; JSON-able.
        prepare: done by the read task itself, on a core of its own.
    """

    def __init__(self, name: str, items: list[tuple[str, Item]], prepare: Callable[[Item], Any] | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._name, self._items, self._prepare = name, items, prepare

    def get_name(self) -> str:
        """Return what Ray calls the source."""
        return self._name

    def estimate_inmemory_data_size(self) -> int:
        """Return the bytes of all blocks, about."""
        return sum(self._bytes(item) for _, item in self._items)

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """Return one task an item, whatever parallelism Ray would like: an item is the unit of work."""
        return [
            ReadTask(
                partial(_block, name, item, self._prepare),
                BlockMetadata(num_rows=1, size_bytes=self._bytes(item), input_files=None, exec_stats=None),
            )
            for name, item in self._items
        ]

    def _bytes(self, item: Item) -> int:
        first, stop = item.get("span", (0, 1))
        return (stop - first) * PREPARED_BYTES if self._prepare else 256


def _block(name: str, item: Item, prepare: Callable[[Item], Any] | None) -> Iterable[pa.Table]:
    prepared = cloudpickle.dumps(prepare(item)) if prepare else None
    yield pa.table({"name": [name], "item": [json.dumps(item)], "prepared": pa.array([prepared], pa.large_binary())})
