"""The code in each worker's process, which makes the worker at its first item and counts the attempts at each item."""

import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Lock
from typing import Any

import pyarrow as pa
import ray
from ray import cloudpickle
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from jobs.engine.item import Item, Worker, works_in_two_parts
from jobs.engine.under_way import item_told_by
from ops.errors import InputError, StorageError, disk_full, one_line

ATTEMPTS = 5
PATIENCE_S = 30.0  # seconds to wait for the count of attempts, without which the work continues


class AttemptCounter:
    """Counts the unfinished attempts at each item and its finished sentences; lives as long as the driver."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.sentences: dict[str, int] = {}

    def begin(self, name: str, again: bool) -> int:
        """Return the number of attempts, including the attempt that begins now, which is counted if it is the first.

        Args:
            again: whether to count further attempts too.
        """
        attempts = self.begun[name] + 1
        if again or attempts == 1:
            self.begun[name] = attempts
        return attempts

    def end(self, name: str) -> None:
        """Stop counting the last attempt, because the item is done; another item that ends its task may repeat it."""
        self.begun[name] -= 1
        self.sentences.pop(name, None)

    def tell(self, name: str, sentences: int) -> None:
        """Note how many sentences of an unfinished item are done."""
        self.sentences[name] = sentences

    def under_way(self) -> int:
        """Return how many sentences are done in unfinished items."""
        return sum(self.sentences.values())


_counters: dict[str, Any] = {}


def attempt_counter() -> Any:
    """Return the driver's counter; the first call starts it, so that later steps need no new process.

    The counter runs on the driver's machine. On another machine, an item that crashes its worker's machine could end
    the counter too, and would be attempted forever.
    """
    context = ray.get_runtime_context()
    job = context.get_job_id()
    if job not in _counters:
        _counters.clear()
        here = NodeAffinitySchedulingStrategy(context.get_node_id(), soft=False)
        counter: Any = ray.remote(AttemptCounter)
        _counters[job] = counter.options(num_cpus=0, scheduling_strategy=here).remote()
    return _counters[job]


def ask_under_way(counter: Any) -> int:
    """Return how many sentences of unfinished items a counter knows; 0 if it does not answer."""
    try:
        return int(ray.get(counter.under_way.remote(), timeout=PATIENCE_S))
    except (RayError, RuntimeError, ValueError):
        return 0


def end_after_gpu_error(error: RuntimeError, name: str) -> None:
    """End this process if a GPU failed, because it can no longer compute there, but another process may be able to.

    The end counts as a worker's death, so the item is attempted again in another process. Too little memory is not such
    a failure; that error goes to the driver.
    """
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        raise InputError(
            f"--token-budget: a GPU's memory does not hold a batch ({one_line(error, 120)}); give fewer tokens"
        ) from error
    if isinstance(error, torch.AcceleratorError) or "CUDA error" in str(error):
        print(f"{name}: {one_line(error)}; this worker ends", file=sys.stderr, flush=True)
        os._exit(1)


class ItemWorker:
    """Does the work of one item after another, in an actor or in tasks of Ray Data.

    Errors in the user's input go to the driver as a row, since Ray keeps only the text of an error. A returned block
    has one row per sentence of the item, so that Ray's own counts are counts of sentences; the first row holds the
    worker's row.

    An actor may call this from two threads. Then the first part of one item's work runs while the last part of the
    previous item's work does. Each call returns the row of its own item once that item is done. An item with an earlier
    unfinished attempt runs alone in the process, so that another crash can be attributed to it.

    Args:
        call: an identifier that distinguishes the items of this call from items of other calls.
    """

    def __init__(self, make: Callable[..., Worker], args: Item, attempts: Any, call: str) -> None:
        self.make, self.args, self.attempts, self.call = make, args, attempts, call
        self.two_parts = works_in_two_parts(make)
        self.worker: Worker | None = None
        self.first_part, self.last_part = Lock(), Lock()

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Do the items of a batch, one after another."""
        for i in range(batch.num_rows):
            name, text, packed = (batch[column][i].as_py() for column in ("name", "item", "prepared"))
            row = self._do(name, json.loads(text), cloudpickle.loads(packed) if packed else None)
            rows = max(int(row.get("sentences", 1)), 1)
            yield pa.table({"row": pa.array([json.dumps(row), *[None] * (rows - 1)], pa.string())})

    def _do(self, name: str, item: Item, prepared: Any) -> Item:
        # A worker of two parts asks this while the previous item is in progress, so the question causes no delay.
        alone = not self.two_parts or self._attempt(name, again=False) > 1
        with ExitStack() as held:
            held.enter_context(self.first_part)
            if alone:
                held.enter_context(self.last_part)
                if self._attempt(name, again=True) > ATTEMPTS:
                    return {"given_up": name}
            counted = f"{self.call}: {name}"
            try:
                with item_told_by(lambda sentences: self.attempts.tell.remote(counted, sentences)):
                    row = self._done(name, item, prepared, None if alone else held)
                self.attempts.end.remote(counted)
                return row
            except InputError as error:
                return {"storage_error" if isinstance(error, StorageError) else "input_error": str(error)}

    def _done(self, name: str, item: Item, prepared: Any, held: ExitStack | None) -> Item:
        """Do an item's work; between its two parts, exchange the lock in `held` for the lock of the last part."""
        try:
            if self.worker is None:
                self.worker = self.make(**self.args)
                # Loaded objects stay in memory, so the garbage collector need not scan them repeatedly.
                gc.freeze()
            if not works_in_two_parts(self.worker):
                return self.worker(item, prepared)
            finish = self.worker.begin(item, prepared)
            if held is not None:
                held.close()
                held.enter_context(self.last_part)
            return finish()
        except OSError as error:
            full = disk_full(error)
            if full is None:
                raise
            return {"disk_full": str(full)}
        except RuntimeError as error:
            end_after_gpu_error(error, name)
            raise

    def _attempt(self, name: str, again: bool) -> int:
        # Best effort: the counter may be lost with its machine, and the work matters more than the count.
        try:
            return int(ray.get(self.attempts.begin.remote(f"{self.call}: {name}", again), timeout=PATIENCE_S))
        except RayError:
            return 1


_kept: tuple[str, ItemWorker] | None = None


def worker_of_process(make: Callable[..., Worker], args: Item, attempts: Any, call: str) -> ItemWorker:
    """Return the worker that this process keeps between tasks of a call; make it if there is none for this call.

    The arguments are the arguments of `ItemWorker`.
    """
    global _kept
    if _kept is None or _kept[0] != call:
        if _kept is not None:
            _kept = None
            gc.unfreeze()
            gc.collect()
        _kept = call, ItemWorker(make, args, attempts, call)
    return _kept[1]
