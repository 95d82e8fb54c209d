"""The engine: one Ray, one way to spread items over workers, the same on a laptop and on a cluster."""

import logging
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial as bind
from typing import Any, Literal, Protocol

from ops.errors import DiskFullError, InputError, disk_full

Item = dict[str, Any]
# What a worker met that is the user's to mend: it goes to the driver as a row, since Ray keeps only an error's text.
TOLD: dict[str, type[Exception]] = {"input_error": InputError, "disk_full": DiskFullError}


class Worker(Protocol):
    """What does the work of one item and says in a small JSON-able row what it did."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one item's work; doing it again gives the same result."""


def connect(cpus: int) -> None:
    """Join the cluster that RAY_ADDRESS names, or start Ray on this machine with room for `cpus` busy cores."""
    # Ray reads these when it is first imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    local = not on_cluster()
    if local:
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", module=r"ray\..*")
    import ray

    if ray.is_initialized():
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if local:
        # By name, or it would join a head that someone runs on this machine.
        options |= {"address": "local", "num_cpus": max(os.cpu_count() or 1, cpus), "include_dashboard": False}
    for attempt in range(3):
        try:
            with _held_back_stderr():
                ray.init(**options)
            return
        except Exception as error:
            # Ray gives its own start 30 seconds, which a busy machine may overrun.
            if "timed out" not in str(error) or not local or attempt == 2:
                raise
            ray.shutdown()


@contextmanager
def _held_back_stderr() -> Iterator[None]:
    """Keep what Ray's start prints below Python to itself, unless the start fails."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(terminal, held.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def check_out(out: str) -> None:
    """Refuse a relative run directory in a submitted job, whose working directory goes away with it.

    Raises:
        InputError: `out` is relative and the process runs as a Ray job.
    """
    if "://" not in out and not os.path.isabs(out) and os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR"):
        raise InputError(
            f"--out {out}: is relative, and a submitted job's working directory goes away; give a full path or URI"
        )


def on_cluster() -> bool:
    """Tell whether the jobs run on a cluster that is there already, and not on this machine alone."""
    return bool(os.environ.get("RAY_ADDRESS"))


def has_gpus() -> bool:
    """Tell whether a GPU is available: on this machine, or on the cluster's nodes that are up."""
    if on_cluster():
        return _cluster("GPU") > 0
    import torch

    return bool(torch.cuda.is_available())


def pool_size(asked: int | Literal["auto"], threads: int = 1, gpu: bool = False) -> int:
    """Return the number of workers: as many as asked for, or (`auto`) one a GPU, or one for every `threads` cores."""
    if asked != "auto":
        return asked
    if gpu:
        import torch

        return max(_cluster("GPU") if on_cluster() else torch.cuda.device_count(), 1)
    return max((_cluster("CPU") if on_cluster() else os.cpu_count() or 1) // threads, 1)


def _cluster(resource: str) -> int:
    import ray

    connect(1)
    return int(ray.cluster_resources().get(resource, 0))


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
    from jobs._pool import Pool

    yield from map(_told, Pool(make.__name__, bind(_Step, make, args), workers, cpus, gpus, prepare).run(items))


def _told(row: Item) -> Item:
    for kind, error in TOLD.items():
        if kind in row:
            raise error(row[kind])
    return row


class _Step:
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
