"""Items, which the engine spreads over workers, and the interface of a worker."""

from collections.abc import Callable
from typing import Any, Protocol, TypeGuard

Item = dict[str, Any]
NamedItem = tuple[str, Item]


class Worker(Protocol):
    """Does the work of one item and returns a small JSON-able row that reports it."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one item's work; repeating it gives the same result."""


class TwoPartWorker(Worker, Protocol):
    """A worker whose process may begin the next item while the last part of an item, such as a commit, is done."""

    def begin(self, item: Item, prepared: Any) -> Callable[[], Item]:
        """Do the first part of one item's work, and return a function that does the rest and returns the row.

        That function may run while another thread does the first part of the next item.
        """


def works_in_two_parts(worker: Any) -> TypeGuard[TwoPartWorker]:
    """Tell whether a worker, or the class that makes it, is a `TwoPartWorker`."""
    return callable(getattr(worker, "begin", None))


class EngineError(RuntimeError):
    """The engine cannot continue; one line says why. Finished work is kept, and the same command resumes it."""
