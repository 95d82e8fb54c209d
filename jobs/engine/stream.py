"""Items through Ray Data: a source of items, read ahead of GPUs, and the actors or tasks that do the work."""

import json
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext, Dataset, TaskPoolStrategy
from ray.data.context import AutoscalingConfig
from ray.exceptions import RayError, RayTaskError

from jobs.engine.actor import ATTEMPTS, ItemWorker, ask_under_way, attempt_counter, worker_of_process
from jobs.engine.item import EngineError, Item, NamedItem, Worker
from jobs.engine.machines import MachineWait, Resources
from jobs.engine.source import ItemSource, share_out
from jobs.engine.under_way import items_elsewhere
from jobs.engine.watch import GOES_ON, Watch
from ops.errors import one_line

LONGEST_ITEM_S = 6 * 3600.0
READER_CPUS = 1.0  # of a source's task that runs apart from the actors
INIT_DEATHS = 5  # of actors in a row, before one is up


def planned(
    items: list[NamedItem],
    make: Callable[..., Worker],
    args: Item,
    pool: ActorPoolStrategy | TaskPoolStrategy,
    holds: dict[str, float],
    prepare: Callable[[Item], Any] | None,
) -> Dataset:
    """Return the execution that `stream` runs.

    A source that holds what the actors hold, before a map without a batch size, is fused with it: then an item is read
    where its work is done. Apart from actors that hold cores its tasks would wait for ever for the cores. Apart from
    actors that hold GPUs they have cores of their own, and must be: Ray Data requires a batch size for those.

    Args:
        items: each with a name of its own.
        make, args: what makes a worker.
        pool: how many actors, or tasks at a time.
        holds: what each of them holds, `num_cpus` or `num_gpus`.
        prepare: done by the source's tasks, on a core each, ahead of the actors.
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
        **work,
        batch_size=1 if apart else None,
        batch_format="pyarrow",
        zero_copy_batch=True,
        compute=pool,
        **holds,
    )
    return dataset


def needs(holds: dict[str, float]) -> list[Resources]:
    """Return what machines are to have, in Ray's words, for an actor and for a reader that runs apart from it."""
    if "num_gpus" in holds:
        return [{"GPU": holds["num_gpus"]}, {"CPU": READER_CPUS}]
    return [{"CPU": holds["num_cpus"]}]


def stream(name: str, dataset: Dataset, needs: Sequence[Resources]) -> Iterator[Item]:
    """Return the row of each item as it comes, in no order.

    Args:
        name: what Ray calls the execution.
        dataset: as `planned` returns it.
        needs: as the function of that name returns them.

    Raises:
        EngineError: the engine cannot continue.
        Exception: what a worker raised, as it raised it.
    """
    # Ray names files after it.
    dataset.set_name(name.replace("/", "-"))
    counter = attempt_counter()
    with items_elsewhere(lambda: ask_under_way(counter)), MachineWait(name, needs), Watch() as watch:
        try:
            for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                yield from map(_row, batch.column("row").drop_null().to_pylist())  # type: ignore[union-attr]
        except RayTaskError as error:
            # The rest of what Ray says is its own way to the worker.
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
    """Set what the jobs want otherwise than Ray Data has it; `calls` are those that an actor takes at a time."""
    # What a worker raises is raised here; Ray need not say it too.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context.enable_progress_bars = False  # we show our own
    context.memory_usage_poll_interval_s = None
    context.issue_detectors_config.detectors = []
    context.raise_original_map_exception = True
    context.max_consecutive_actor_init_deaths = INIT_DEATHS
    # A slow item is no lack of progress, but no wait is endless.
    context.execution_no_progress_timeout_s = LONGEST_ITEM_S
    # A pool grows and shrinks by the items that its actors have with them, which Ray Data divides by their calls: with
    # its own thresholds one whose actors take two would need four items each to grow.
    default = AutoscalingConfig()
    context.autoscaling_config = AutoscalingConfig(
        actor_pool_util_upscaling_threshold=default.actor_pool_util_upscaling_threshold / calls,
        actor_pool_util_downscaling_threshold=default.actor_pool_util_downscaling_threshold / calls,
    )
    # One block an item from end to end: none is cut or joined.
    context.target_max_block_size = None
    context.target_min_block_size = 0
