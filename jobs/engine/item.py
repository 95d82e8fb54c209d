"""What the engine spreads: items, and what does the work of one."""

from typing import Any, Protocol

Item = dict[str, Any]
NamedItem = tuple[str, Item]


class Worker(Protocol):
    """What does the work of one item and says in a small JSON-able row what it did."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one item's work; doing it again gives the same result."""


class EngineError(RuntimeError):
    """The engine cannot go on: one line that says why; what was done is kept, and the same command goes on there."""
