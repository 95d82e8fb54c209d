"""A pool of Ray actors that take items as they get free, and are replaced when they die."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError

DEATHS = 5  # Actors that one item may cost, or that may die before they are up.
PATIENCE = 60.0  # Seconds without an actor before the wait is reported.
UP = -1  # Where an item's number stands: the actor is to say that it is up.


class Pool:
    """Hands items to actors and returns their results as they come.

    An item goes to an actor that is up, never to one that waits for room on the cluster: the work begins with the
    actors that are there. One that dies (killed, out of memory, its machine gone) is replaced, and its items are done
    again by whoever is free.

    Args:
        name: what the actors' processes are called: `ray::name`.
        make: makes what does an item's work, `make()(item, prepared)`, in each actor's process at its first item.
        workers: actors.
        cpus, gpus: what each of them holds.
        prepare: done as a task of its own, on one core, before an actor gets the item; an actor then has its next
            item with it while it works, or else it would wait for the preparation.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Callable[[Any, Any], Any]],
        workers: int,
        cpus: float = 1,
        gpus: float = 0,
        prepare: Callable[[Any], Any] | None = None,
    ) -> None:
        # Spread, so that one machine's end takes few of them.
        named = type(name, (_Actor,), {})
        self._actor: Any = ray.remote(num_cpus=cpus, num_gpus=gpus, scheduling_strategy="SPREAD")(named)
        self._prepare = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(prepare) if prepare else None
        self._make, self._workers, self._most = make, workers, 2 if prepare else 1
        self._actors: dict[int, Any] = {}  # By number, those that are up and those that are to come up.
        self._held: dict[int, int] = {}  # How many items each one has that is up.
        self._waiting: dict[Any, tuple[int, int]] = {}  # What a reference is of: actor, item.
        self._deaths: Counter[int] = Counter()
        self._next = 0

    def run(self, items: list[Any]) -> Iterator[Any]:
        """Return each item's result, in no order.

        Raises:
            RuntimeError: actors die again and again.
            Exception: what the work raised, as it raised it.
        """
        todo = list(range(len(items)))[::-1]
        left = len(items)
        for _ in range(min(self._workers, left)):
            self._start()
        try:
            while left:
                ready, _ = ray.wait(list(self._waiting), timeout=PATIENCE)
                if not ready and not self._held:
                    print("the cluster has no room for a worker yet; waiting for it", file=sys.stderr)
                for reference in ready:
                    actor, item = self._waiting.pop(reference)
                    try:
                        result = ray.get(reference)
                    except (RayActorError, OutOfMemoryError) as error:
                        if item != UP:
                            todo.append(item)
                        self._replace(actor, item, error)
                        self._hand_out(items, todo)
                        continue
                    except RayTaskError as error:
                        raise error.cause from error
                    if item == UP:
                        self._deaths[UP] = 0
                        self._held[actor] = 0
                    else:
                        self._held[actor] -= 1
                    # Before the caller looks at the result, or the actor would wait for that too.
                    self._hand_out(items, todo)
                    if item != UP:
                        left -= 1
                        yield result
        finally:
            for handle in self._actors.values():
                ray.kill(handle)

    def _start(self) -> None:
        number = self._next
        self._next += 1
        self._actors[number] = self._actor.remote(self._make)
        self._waiting[self._actors[number].up.remote()] = number, UP

    def _hand_out(self, items: list[Any], todo: list[int]) -> None:
        """Hand items to actors, the first to each before a second to any."""
        for held in range(self._most):
            for number in [n for n, count in self._held.items() if count == held]:
                if not todo:
                    return
                item = todo.pop()
                prepared = self._prepare.remote(items[item]) if self._prepare else None
                self._waiting[self._actors[number].do.remote(items[item], prepared)] = number, item
                self._held[number] += 1

    def _replace(self, number: int, item: int, error: Exception) -> None:
        self._deaths[item] += 1
        if self._deaths[item] == DEATHS:
            what = "before it was up" if item == UP else "over the same work"
            raise RuntimeError(f"a worker died {what}, {DEATHS} times: {error}") from error
        if number in self._actors:
            ray.kill(self._actors.pop(number))
            self._held.pop(number, None)
            self._start()


class _Actor:
    def __init__(self, make: Callable[[], Callable[[Any, Any], Any]]) -> None:
        self.make = make
        self.work: Callable[[Any, Any], Any] | None = None

    def up(self) -> None:
        """Say that the process is there."""

    def do(self, item: Any, prepared: Any) -> Any:
        """Do one item's work."""
        if self.work is None:
            self.work = self.make()
        return self.work(item, prepared)
