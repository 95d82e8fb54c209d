"""What the engine spreads: items, and what does the work of one."""

from collections.abc import Callable
from typing import Any, Protocol, TypeGuard

Item = dict[str, Any]
NamedItem = tuple[str, Item]


class Worker(Protocol):
    """What does the work of one item and says in a small JSON-able row what it did."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one item's work; doing it again gives the same result."""


class TwoPartWorker(Worker, Protocol):
    """A worker whose process may begin its next item while the last part of one, such as a commit, is done."""

    def begin(self, item: Item, prepared: Any) -> Callable[[], Item]:
        """Do the first part of one item's work, and return what does the rest and returns the row.

        The rest is called in another thread's time, while the first part of the next item may be under way.
        """


def works_in_two_parts(worker: Any) -> TypeGuard[TwoPartWorker]:
    """Tell whether a worker, or what makes one, is a `TwoPartWorker`."""
    return callable(getattr(worker, "begin", None))


class EngineError(RuntimeError):
    """The engine cannot continue: one line says why. What was done is kept, and the same command resumes there."""
