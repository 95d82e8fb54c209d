"""A word each minute as long as a cluster has no machine that the work fits on: whoever waits sees for what."""

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from jobs.engine.progress import say
from ops.clock import duration

FIRST_S = 10.0
EVERY_S = 60.0

Resources = dict[str, float]


def machines_up() -> list[Resources]:
    """Return what each machine of the cluster has."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


class MachineWait:
    """Says, as long as it is entered, what machine is waited for where none of its kind is up.

    Args:
        name: the step that waits.
        needs: what one worker holds, and what one reader holds, such as `{"GPU": 1}` and `{"CPU": 1}`; a machine for
            each is enough, and the same one may do for all.
        up: asks the cluster what each of its machines has; what it raises counts as no answer.
        first, every: seconds before the first line, and between two.
    """

    def __init__(
        self,
        name: str,
        needs: Sequence[Resources],
        up: Callable[[], list[Resources]] = machines_up,
        first: float = FIRST_S,
        every: float = EVERY_S,
    ) -> None:
        self.name, self.needs, self.up, self.first, self.every = name, needs, up, first, every
        self.since: float | None = None
        self.over = threading.Event()

    def __enter__(self) -> "MachineWait":
        self.since = time.monotonic()
        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()

    def line(self, now: float) -> str | None:
        """Return what there is to say at a time of the monotonic clock: None where a machine is up for each need."""
        up = self.up()
        missing = [need for need in self.needs if not any(_fits(need, machine) for machine in up)]
        if not missing:
            self.since = None
            return None
        self.since = now if self.since is None else self.since
        asked = " and for one with ".join(map(_named, missing))
        return f"{self.name}: waits for a machine with {asked}; none is up ({duration(now - self.since)})"

    def _look(self) -> None:
        pause = self.first
        while not self.over.wait(pause):
            pause = self.every
            try:
                line = self.line(time.monotonic())
            except Exception:  # whatever it is, there was no answer
                continue
            if line and not self.over.is_set():
                say(line)


def _fits(need: Resources, machine: Resources) -> bool:
    return all(machine.get(name, 0) >= amount for name, amount in need.items())


def _named(need: Resources) -> str:
    return " and ".join(f"{amount:g} {name if amount == 1 else name + 's'}" for name, amount in need.items())
