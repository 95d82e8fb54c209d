"""Counts of the sentences done in unfinished items: workers report them regularly, and the driver adds them up."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Batch = TypeVar("Batch", bound=tuple[object, ...])
EVERY_S = 1.0  # seconds between two reports on one item

_item = threading.local()  # holds the function that reports on the item that this thread works on
_items_here: dict[str, int] = {}
_elsewhere: list[Callable[[], int]] = []


def counting(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the batches unchanged, and report how many sentences of this thread's item are done.

    A batch is a tuple whose first entry has one element per sentence, such as the ids of the sentences.
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
    """Let `counting` report to `tell` in this thread while the context lasts."""
    before, _item.tell = getattr(_item, "tell", None), tell
    try:
        yield
    finally:
        _item.tell = before


@contextmanager
def item_here(name: str) -> Iterator[None]:
    """Count the sentences that `counting` reports for an item that this process works on."""
    with item_told_by(lambda done: _items_here.__setitem__(name, done)):
        try:
            yield
        finally:
            _items_here.pop(name, None)


@contextmanager
def items_elsewhere(ask: Callable[[], int]) -> Iterator[None]:
    """Count the sentences of items that other processes work on; `ask` returns their number."""
    _elsewhere.append(ask)
    try:
        yield
    finally:
        _elsewhere.remove(ask)


def sentences_under_way() -> int:
    """Return how many sentences are done in unfinished items."""
    return sum(list(_items_here.values())) + sum(ask() for ask in list(_elsewhere))
