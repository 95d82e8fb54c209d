"""Reading side by side: in order, no more at once than said, and the first thing that goes wrong is raised."""

import threading
from collections.abc import Iterator

import pytest

from ops.storage.side_by_side import side_by_side


@pytest.mark.parametrize("at_once", [1, 3, 16])
def test_results_come_in_order_and_few_are_under_way(at_once: int) -> None:
    lock, barrier = threading.Lock(), threading.Barrier(at_once)
    begun = taken = most = 0

    def do(number: int) -> int:
        nonlocal begun, most
        with lock:
            begun += 1
            most = max(most, begun - taken)
        # Each waits for so many others: they are at work side by side, or this never ends.
        barrier.wait(timeout=30)
        return number * 10

    found = []
    for result in side_by_side(do, range(16 * 3), at_once):
        found.append(result)
        with lock:
            taken += 1
    assert found == [number * 10 for number in range(16 * 3)]
    # One more begins as a result is handed over.
    assert at_once <= most <= at_once + 1


def test_items_are_asked_for_as_there_is_room() -> None:
    asked = []

    def items() -> Iterator[int]:
        for number in range(100):
            asked.append(number)
            yield number

    found = side_by_side(lambda n: n, items(), 4)
    assert next(found) == 0
    assert len(asked) == 5
    found.close()  # type: ignore[attr-defined]
    assert len(asked) == 5


def test_what_is_raised_is_raised_at_its_item() -> None:
    def do(number: int) -> int:
        if number == 3:
            raise OSError("lost")
        return number

    found = side_by_side(do, range(10), 4)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="lost"):
        next(found)
    assert list(side_by_side(str, [])) == []
