"""Reads many files, several at the same time but in order, because each request to object storage waits."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

# How many of a run's files are read at the same time: small files or footers; large files or some of their row groups.
SMALL_FILES_AT_ONCE, LARGE_FILES_AT_ONCE = 16, 4

One = TypeVar("One")
Found = TypeVar("Found")


def side_by_side(
    do: Callable[[One], Found], items: Iterable[One], at_once: int = SMALL_FILES_AT_ONCE
) -> Iterator[Found]:
    """Yield what `do` returns for each item, in order; at most `at_once` results are in memory.

    Args:
        do: the function, which is called in threads; an exception is raised here when its item's turn comes.
        items: the items, which are taken one after another as calls finish.
        at_once: maximum number of items that are being processed or whose results wait to be taken.

    >>> list(side_by_side(lambda n: n * n, range(5), at_once=2))
    [0, 1, 4, 9, 16]
    """
    left = iter(items)
    with ThreadPoolExecutor(at_once) as threads:
        waiting: deque[Future[Found]] = deque(threads.submit(do, item) for item in islice(left, at_once))
        try:
            while waiting:
                returned = waiting.popleft().result()
                waiting.extend(threads.submit(do, item) for item in islice(left, 1))
                yield returned
        finally:
            for future in waiting:
                future.cancel()
