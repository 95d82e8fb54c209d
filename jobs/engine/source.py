"""The items of a step as a data source for Ray Data, with one block per item and one read task per few items."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pyarrow as pa
from ray import cloudpickle
from ray.data import Datasource, ReadTask
from ray.data.block import BlockMetadata

from jobs.engine.item import Item, NamedItem

# Stated size in bytes of the prepared data of a sentence, with which Ray Data plans its memory.
PREPARED_BYTES = 400


MOST_IN_TASK = 4


def share_out(items: list[NamedItem], workers: int) -> list[list[NamedItem]]:
    """Group items into tasks, in their order, with a few items per task at first and single items at the end.

    Between two tasks of Ray Data a worker waits 0.16 s for its driver (measured with version 2.60), but not between two
    items of a task. At the end, no worker should have several items left while another has none.
    """
    tasks = []
    while items:
        share = min(max(len(items) // (2 * workers), 1), MOST_IN_TASK)
        tasks.append(items[:share])
        items = items[share:]
    return tasks


class ItemSource(Datasource):  # type: ignore[misc]
    """A source with one block of one row for each item: its `name`, `item` as JSON, and its pickled `prepared` data.

    Args:
        tasks: the items of each read task, which are JSON-able, each with a unique name.
    """

    def __init__(self, name: str, tasks: list[list[NamedItem]], prepare: Callable[[Item], Any] | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._name, self._tasks, self._prepare = name, tasks, prepare

    def get_name(self) -> str:
        """Return the name of the source in Ray."""
        return self._name

    def estimate_inmemory_data_size(self) -> int:
        """Return the approximate size of all blocks in bytes."""
        return sum(map(self._bytes, self._tasks))

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """Return the tasks, regardless of the parallelism that Ray requests."""
        return [
            ReadTask(
                partial(_blocks, task, self._prepare),
                BlockMetadata(num_rows=len(task), size_bytes=self._bytes(task), input_files=None, exec_stats=None),
            )
            for task in self._tasks
        ]

    def _bytes(self, task: list[NamedItem]) -> int:
        spans = (item.get("span", (0, 1)) for _, item in task)
        return sum((stop - first) * PREPARED_BYTES if self._prepare else 256 for first, stop in spans)


def _blocks(task: list[NamedItem], prepare: Callable[[Item], Any] | None) -> Iterable[pa.Table]:
    for name, item in task:
        prepared = pa.array([cloudpickle.dumps(prepare(item)) if prepare else None], pa.large_binary())
        yield pa.table({"name": [name], "item": [json.dumps(item)], "prepared": prepared})
