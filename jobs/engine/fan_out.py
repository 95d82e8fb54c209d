"""One way to spread items over workers, the same on a laptop and on a cluster."""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from jobs.engine.connect import available_bytes, connect, on_cluster, one_thread_a_worker, stays_here
from jobs.engine.item import Item, Worker, works_in_two_parts
from jobs.engine.machines import cores_for, kinds_to_come, machines_up
from jobs.engine.under_way import item_here
from ops.errors import DiskFullError, InputError

if TYPE_CHECKING:
    from ray.data import ActorPoolStrategy, TaskPoolStrategy

# An error that the user has to fix: it comes as a row, since Ray keeps only an error's text.
USER_ERRORS: dict[str, type[Exception]] = {"input_error": InputError, "disk_full": DiskFullError}
ITEMS_AHEAD = 2  # items that an actor has with it: a pool that has fewer than two does not grow


def fan_out(
    items: list[Item],
    make: Callable[..., Worker],
    args: Item,
    *,
    name: str,
    name_item: Callable[[Item], str] = str,
    workers: int | None,
    cpus: float = 1,
    gpus: float = 0,
    prepare: Callable[[Item], Any] | None = None,
    actors: bool = False,
    ahead: int = ITEMS_AHEAD,
    here: bool = False,
    memory: int = 0,
) -> Iterator[Item]:
    """Spread items over workers by Ray Data and return each one's row as it comes, in no order.

    A worker that dies is replaced and its item done again, so work is to be idempotent. On a cluster the pool of
    workers grows as machines come that it asked for; on one machine its size is fixed.

    Args:
        items: JSON-able descriptions.
        make: makes a worker from `args`, once in each process, at the first item there. An actor of a class that is a
            `TwoPartWorker` begins its next item while the last part of one is done.
        name: what Ray shows of the whole.
        name_item: names an item, for the message about one that ends its worker again and again.
        workers: most workers; None for as many as a cluster brings up. On one machine a single item, and all work of a
            single worker, is done in this process.
        cpus, gpus: what each worker holds; with GPUs nothing else.
        prepare: run on cores of its own before the worker gets the item (with GPUs: reading and tokenizing);
            without it the worker is called with None and does that itself.
        actors: each worker is an actor, for what loads a model: a process of its own, which ends with the call.
            Otherwise its items are tasks, in processes that Ray keeps from call to call: no start for each.
        ahead: items that an actor has with it, the one under way included.
        here: do them in threads of this process, with one worker for all: for work that is less than a start of Ray.
        memory: bytes of a worker, where they may be more than a core's share of a machine's memory. On a cluster it
            holds further cores for them; on one machine there are no more workers than there is room for.
    """
    if not items:
        return
    if memory and not on_cluster():
        workers = min(workers or len(items), max(available_bytes() // memory, 1))
    most = min(workers or len(items), len(items))
    if here or (not gpus and stays_here(len(items), workers)):
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
    connect(math.ceil(most * cpus))
    if memory and on_cluster():
        cpus = max(cpus, cores_for(memory, [*machines_up(), *kinds_to_come().values()]))
    from jobs.engine.stream import needs, planned, stream

    at_once = bool(gpus) and workers is not None
    pool = choose_pool(most, actors, ahead, at_once, calls=2 if works_in_two_parts(make) else 1)
    holds = {"num_gpus": gpus} if gpus else {"num_cpus": cpus}
    named = [(name_item(item), item) for item in items]
    dataset = planned(named, make, args, pool, holds, prepare)
    yield from map(_raise_user_error, stream(name, dataset, needs(holds)))


def choose_pool(
    most: int, actors: bool, ahead: int, all_at_once: bool = False, calls: int = 1
) -> "ActorPoolStrategy | TaskPoolStrategy":
    """Return at most so many tasks at a time, or a pool of actors that grows on a cluster.

    A growing pool doubles once its machines are up: 1, 2, 4, 8 machines take four boots. With `all_at_once` every actor
    is asked for at the start, and work begins with the first that comes. `calls` are those that an actor takes at a
    time, of the items that it has with it.
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


def _raise_user_error(row: Item) -> Item:
    for kind, error in USER_ERRORS.items():
        if kind in row:
            raise error(row[kind])
    return row
