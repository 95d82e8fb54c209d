"""One function that spreads items over workers, on a laptop as on a cluster."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jobs.engine.connect import available_bytes, connect, on_cluster, one_thread_a_worker, stays_here
from jobs.engine.item import Item, Worker, works_in_two_parts
from jobs.engine.machines import cores_for, kinds_to_come, machines_up
from jobs.engine.under_way import item_here
from ops.errors import DiskFullError, InputError, StorageError

if TYPE_CHECKING:
    from ray.data import ActorPoolStrategy, TaskPoolStrategy

# Errors that the user has to fix arrive as rows, since Ray keeps only the text of an error.
USER_ERRORS: dict[str, type[Exception]] = {
    "storage_error": StorageError, "input_error": InputError, "disk_full": DiskFullError
}  # fmt: skip
ITEMS_AHEAD = 2  # items that an actor has at a time; with fewer than two, a pool does not grow


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How items are spread over workers.

    Attributes:
        prepare: a function that is applied to an item on separate cores before the worker gets it (with GPUs: reading
            and tokenizing). Without it the worker is called with None and does that itself.
        holds: the resources that each worker holds (`cpus`, `gpus`); by default one core. If it holds GPUs, it holds no
            cores.
        workers: the maximum number of workers; None for as many as a cluster brings up. On one machine a single item,
            or all work of a single worker, is done in this process.
        actors: whether each worker is an actor, for workers that load a model: a separate process that ends with the
            call. Otherwise items are tasks, in processes that Ray keeps between calls, so that they need not be started
            again.
        here: whether to do the items in threads of this process with one worker for all, for work shorter than a start
            of Ray.
        ahead: the number of items that an actor has at a time, the current item included.
        memory: the bytes of memory of a worker, if they may exceed a core's share of a machine's memory. On a cluster
            the worker then holds more cores; on one machine there are at most as many workers as fit into memory.
    """

    prepare: Callable[[Item], Any] | None = None
    holds: Mapping[str, float] = field(default_factory=dict)
    workers: int | None = None
    actors: bool = False
    here: bool = False
    ahead: int = ITEMS_AHEAD
    memory: int = 0


def fan_out(
    items: list[Item],
    make: Callable[..., Worker],
    args: Item,
    how: Spread,
    *,
    name: str,
    name_item: Callable[[Item], str] = str,
) -> Iterator[Item]:
    """Spread items over workers with Ray Data and yield each item's row when it is available, in no particular order.

    A worker that dies is replaced and its item is done again, so work must be idempotent. On a cluster the pool of
    workers grows as the requested machines come up; on one machine its size is fixed.

    Args:
        make: makes a worker from `args`, once in each process, at its first item. An actor whose class is a
            `TwoPartWorker` begins its next item while the last part of the previous item is done.
        name_item: returns the name of an item, for the message about an item that repeatedly ends its worker.
    """
    if not items:
        return
    workers, prepare, gpus = how.workers, how.prepare, how.holds.get("gpus", 0)
    if how.memory and not on_cluster():
        workers = min(workers or len(items), max(available_bytes() // how.memory, 1))
    most = min(workers or len(items), len(items))
    if how.here or (not gpus and stays_here(len(items), workers)):
        one_thread_a_worker()
        worker = make(**args)

        def work(item: Item) -> Item:
            with item_here(name_item(item)):
                return worker(item, prepare(item) if prepare else None)

        if most == 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(min(most, os.cpu_count() or 1)) as threads:
            yield from threads.map(work, items)
        return
    # On one machine the number of workers is limited already, and Ray has the cores of the command's first step.
    cpus = how.holds.get("cpus", 1) if on_cluster() else min(how.holds.get("cpus", 1), 1)
    connect(most)
    if how.memory and on_cluster():
        cpus = max(cpus, cores_for(how.memory, [*machines_up(), *kinds_to_come().values()]))
    from jobs.engine.stream import READER_CPUS, planned, stream

    at_once = bool(gpus) and workers is not None
    pool = choose_pool(most, how.actors, how.ahead, at_once, calls=2 if works_in_two_parts(make) else 1)
    holds = {"num_gpus": gpus} if gpus else {"num_cpus": cpus}
    named = [(name_item(item), item) for item in items]
    dataset = planned(named, make, args, pool, holds, prepare)
    # For an actor that holds GPUs, a machine for a separate reader is needed too.
    needs = [{"GPU": gpus}, {"CPU": READER_CPUS}] if gpus else [{"CPU": cpus}]
    for row in stream(name, dataset, needs):
        for kind, error in USER_ERRORS.items():
            if kind in row:
                raise error(row[kind])
        yield row


def choose_pool(
    most: int, actors: bool, ahead: int, all_at_once: bool = False, calls: int = 1
) -> "ActorPoolStrategy | TaskPoolStrategy":
    """Return a pool of at most `most` tasks at a time, or a pool of actors, which grows on a cluster.

    A growing pool doubles each time its machines are up, so 8 machines take four boots (1, 2, 4, 8). With `all_at_once`
    every actor is requested at the start, and work begins with the first one that is up. `calls` is the number of calls
    that an actor takes at a time, out of its `ahead` items.
    """
    from ray.data import ActorPoolStrategy, TaskPoolStrategy

    if not actors:
        return TaskPoolStrategy(size=most)
    each: dict[str, Any] = {"max_tasks_in_flight_per_actor": ahead}
    if calls > 1:
        each |= {"max_concurrent_calls_per_actor": calls, "enable_true_multi_threading": True}
    if on_cluster() and not all_at_once:
        return ActorPoolStrategy(min_size=1, max_size=most, **each)
    return ActorPoolStrategy(size=most, **each)
