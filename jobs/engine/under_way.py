"""How many sentences of unfinished items are done: workers say it now and then, and the driver adds them up."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Batch = TypeVar("Batch", bound=tuple[object, ...])
EVERY_S = 1.0  # between two words of one item

_item = threading.local()  # what tells of the item that this thread works at
_items_here: dict[str, int] = {}
_elsewhere: list[Callable[[], int]] = []


def counting(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Return batches as they are, and tell how many sentences of this thread's item were in those that are done.

    A batch is a tuple whose first entry has the length of the batch, such as the ids of its sentences.
    """
    tell: Callable[[int], None] | None = getattr(_item, "tell", None)
    done, last = 0, time.monotonic()
    for batch in batches:
        yield batch
        done += len(batch[0])  # type: ignore[arg-type]  # ids
        if tell is not None and time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            tell(done)


@contextmanager
def item_told_by(tell: Callable[[int], None]) -> Iterator[None]:
    """Have `counting` call `tell` in this thread."""
    before, _item.tell = getattr(_item, "tell", None), tell
    try:
        yield
    finally:
        _item.tell = before


@contextmanager
def item_here(name: str) -> Iterator[None]:
    """Count what `counting` says of an item that this process works at."""
    with item_told_by(lambda done: _items_here.__setitem__(name, done)):
        try:
            yield
        finally:
            _items_here.pop(name, None)


@contextmanager
def items_elsewhere(ask: Callable[[], int]) -> Iterator[None]:
    """Count the sentences of items that other processes work at, which `ask` returns."""
    _elsewhere.append(ask)
    try:
        yield
    finally:
        _elsewhere.remove(ask)


def sentences_under_way() -> int:
    """Return how many sentences are done of items that are not."""
    return sum(list(_items_here.values())) + sum(ask() for ask in list(_elsewhere))
