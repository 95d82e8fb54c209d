"""Runs items through Ray Data, with a source that may read ahead of GPUs, and actors or tasks that do the work."""

import json
import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import ray
from ray import cloudpickle
from ray.data import ActorPoolStrategy, DataContext, Dataset, Datasource, ReadTask, TaskPoolStrategy
from ray.data.block import BlockMetadata
from ray.data.context import AutoscalingConfig
from ray.exceptions import RayError, RayTaskError

from jobs.engine.actor import ATTEMPTS, ItemWorker, ask_under_way, attempt_counter, worker_of_process
from jobs.engine.item import EngineError, Item, NamedItem, Worker
from jobs.engine.machines import MachineWait, Resources
from jobs.engine.under_way import items_elsewhere
from jobs.engine.watch import GOES_ON, Watch
from ops.errors import one_line

LONGEST_ITEM_S = 6 * 3600.0
READER_CPUS = 1.0  # cores of a source's task that runs separately from the actors
INIT_DEATHS = 5  # most consecutive deaths of actors before one is up
# Stated size in bytes of the prepared data of a sentence, with which Ray Data plans its memory.
PREPARED_BYTES = 400
MOST_IN_TASK = 4


def planned(
    items: list[NamedItem],
    make: Callable[..., Worker],
    args: Item,
    pool: ActorPoolStrategy | TaskPoolStrategy,
    holds: dict[str, float],
    prepare: Callable[[Item], Any] | None,
) -> Dataset:
    """Return the execution that `stream` runs.

    If the source holds the same resources as the workers and the map has no batch size, Ray Data fuses the two: an item
    is then read in the process that does its work. If the workers hold cores, the source must be fused, because its
    separate tasks would wait forever for cores. If the workers hold GPUs, the source must be separate, because Ray Data
    requires a batch size for them; its tasks then have their own cores.
    """
    calls = getattr(pool, "max_concurrent_calls_per_actor", None) or 1
    set_context(DataContext.get_current(), calls)
    apart = prepare is not None or "num_gpus" in holds
    made_from = make, args, attempt_counter(), uuid.uuid4().hex
    reading: dict[str, Any] = {"num_cpus": READER_CPUS} if apart else dict(holds)
    work: dict[str, Any]
    tasks = [[item] for item in items]
    if isinstance(pool, TaskPoolStrategy):
        if not apart:
            tasks = share_out(items, pool.size or len(items))

        def do(batch: pa.Table) -> Iterator[pa.Table]:
            yield from worker_of_process(*made_from)(batch)

        do.__name__ = make.__name__
        work = {"fn": do}
        if not apart:
            reading["compute"] = pool
    else:
        work = {"fn": type(make.__name__, (ItemWorker,), {}), "fn_constructor_args": made_from}
    source = ItemSource("Items" if prepare is None else "Shards", tasks, prepare)
    dataset: Dataset = ray.data.read_datasource(source, override_num_blocks=len(tasks), **reading).map_batches(
        **work, batch_size=1 if apart else None, batch_format="pyarrow", zero_copy_batch=True, compute=pool, **holds
    )
    return dataset


def stream(name: str, dataset: Dataset, needs: Sequence[Resources]) -> Iterator[Item]:
    """Yield the row of each item as soon as it is available, in no particular order.

    Raises:
        EngineError: the engine cannot continue.
        Exception: the exception that a worker raised.
    """
    # Ray uses this name in file names.
    dataset.set_name(name.replace("/", "-"))
    counter = attempt_counter()
    with items_elsewhere(lambda: ask_under_way(counter)), MachineWait(name, needs), Watch() as watch:
        try:
            for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                yield from map(_row, batch.column("row").drop_null().to_pylist())  # type: ignore[union-attr]
        except RayTaskError as error:
            # The rest of Ray's message is only Ray's own call stack.
            raise error.cause from error
        except RayError as error:
            if not watch.why:
                raise EngineError(f"{name}: {one_line(error)}; {GOES_ON}") from error


def _row(text: str) -> Item:
    row: Item = json.loads(text)
    if "given_up" in row:
        raise EngineError(
            f"{row['given_up']}: its worker's process ended {ATTEMPTS} times (killed, or out of memory);"
            f" it is not retried; {GOES_ON}"
        )
    return row


def set_context(context: DataContext, calls: int = 1) -> None:
    """Change the defaults of Ray Data that do not suit the jobs; an actor takes `calls` calls at a time."""
    # An exception of a worker is raised here, so Ray need not log it too.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context.enable_progress_bars = False  # the engine shows its own progress
    context.memory_usage_poll_interval_s = None
    context.issue_detectors_config.detectors = []
    context.raise_original_map_exception = True
    context.max_consecutive_actor_init_deaths = INIT_DEATHS
    # A slow item is not a lack of progress, but there is a limit to the wait.
    context.execution_no_progress_timeout_s = LONGEST_ITEM_S
    # Ray Data grows and shrinks a pool by the number of items per actor, divided by the calls that an actor takes at a
    # time. With the default thresholds, a pool whose actors take two calls would need four items per actor to grow.
    default = AutoscalingConfig()
    context.autoscaling_config = AutoscalingConfig(
        actor_pool_util_upscaling_threshold=default.actor_pool_util_upscaling_threshold / calls,
        actor_pool_util_downscaling_threshold=default.actor_pool_util_downscaling_threshold / calls,
    )
    # Each item stays one block throughout; blocks are neither split nor joined.
    context.target_max_block_size = None
    context.target_min_block_size = 0


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
    """A source with one block of one row for each item: its `name`, `item` as JSON, and its pickled `prepared` data."""

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
