"""One way to spread items over workers, the same on a laptop and on a cluster."""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

from jobs.engine.connect import connect, on_cluster
from ops.errors import DiskFullError, InputError, disk_full

Item = dict[str, Any]
# What a worker met that is the user's to mend: it goes to the driver as a row, since Ray keeps only an error's text.
USER_ERRORS: dict[str, type[Exception]] = {"input_error": InputError, "disk_full": DiskFullError}


class Worker(Protocol):
    """What does the work of one item and says in a small JSON-able row what it did."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one item's work; doing it again gives the same result."""


def fan_out(
    items: list[Item],
    make: Callable[..., Worker],
    args: Item,
    *,
    workers: int,
    cpus: float = 1,
    gpus: float = 0,
    prepare: Callable[[Item], Any] | None = None,
    here: bool = False,
) -> Iterator[Item]:
    """Spread items over a pool of workers and return each one's row as it comes, in no order.

    A worker that dies is replaced and its item done again, so work is to be idempotent.

    Args:
        items: JSON-able descriptions.
        make: makes a worker from `args`, once in each process, at its first item.
        workers: processes; no more than items are started. A single item is done in this process, on one machine.
        cpus, gpus: what each worker holds.
        prepare: run on cores of its own before the worker gets the item (with GPUs: reading and tokenizing);
            without it the worker is called with None and does that itself.
        here: do them in threads of this process, with one worker for all: for work that is less than a pool's start.
    """
    if not items:
        return
    if here or (len(items) == 1 and not gpus and not on_cluster()):
        # One item on this machine gains nothing from another process but its start.
        worker = make(**args)

        def work(item: Item) -> Item:
            return worker(item, prepare(item) if prepare else None)

        if len(items) == 1 or workers == 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(min(workers, os.cpu_count() or 1)) as threads:
            yield from threads.map(work, items)
        return
    workers = min(workers, len(items))
    connect(math.ceil(workers * cpus))
    from jobs.engine.pool import Pool

    yield from map(
        _raise_user_error,
        Pool(make.__name__, partial(_LazyWorker, make, args), workers, cpus, gpus, prepare).run(items),
    )


def _raise_user_error(row: Item) -> Item:
    for kind, error in USER_ERRORS.items():
        if kind in row:
            raise error(row[kind])
    return row


class _LazyWorker:
    """Makes its worker at the first item; what is wrong with the user's input goes to the driver as a row."""

    def __init__(self, make: Callable[..., Worker], args: Item) -> None:
        self.make, self.args = make, args
        self.worker: Worker | None = None

    def __call__(self, item: Item, prepared: Any) -> Item:
        try:
            if self.worker is None:
                self.worker = self.make(**self.args)
            return self.worker(item, prepared)
        except InputError as error:
            return {"input_error": str(error)}
        except OSError as error:
            full = disk_full(error)
            if full is None:
                raise
            return {"disk_full": str(full)}
