"""Reading many files whose requests wait for each other on object storage: some at a time, in their order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

# Of a run's files, how many are read side by side: small ones or footers; large ones or some of their row groups.
SMALL_FILES_AT_ONCE, LARGE_FILES_AT_ONCE = 16, 4

One = TypeVar("One")
Found = TypeVar("Found")


def side_by_side(
    do: Callable[[One], Found], items: Iterable[One], at_once: int = SMALL_FILES_AT_ONCE
) -> Iterator[Found]:
    """Return what `do` returns for each item, in their order; memory is that of `at_once` results.

    Args:
        do: called in threads; what it raises is raised here, at its item.
        items: one after another, as there is room.
        at_once: items that are under way or wait to be taken.

    >>> list(side_by_side(lambda n: n * n, range(5), at_once=2))
    [0, 1, 4, 9, 16]
    """
    left = iter(items)
    with ThreadPoolExecutor(at_once) as threads:
        waiting: deque[Future[Found]] = deque(threads.submit(do, item) for item in islice(left, at_once))
        try:
            while waiting:
                found = waiting.popleft().result()
                waiting.extend(threads.submit(do, item) for item in islice(left, 1))
                yield found
        finally:
            for future in waiting:
                future.cancel()
