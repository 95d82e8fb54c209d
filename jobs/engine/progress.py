"""How far a stage has come: one line on standard error, rewritten on a terminal, repeated now and then in a log."""

import sys
import time
from types import TracebackType

EVERY_S = 10.0


class Progress:
    """Counts finished items and shows rate and time left.

    Args:
        stage: name shown first.
        items: number of items in all.
        unit: what an item is (`shards`).
        done: items that were finished before this start.
        work: what is counted inside the items (`sentences`), and how many there are in all, those of `done` included.
    """

    def __init__(self, stage: str, items: int, unit: str, done: int = 0, work: tuple[str, int] | None = None) -> None:
        self.stage, self.items, self.unit, self.done, self.work = stage, items, unit, done, work
        self.earlier = done
        self.counted = 0
        self.started = time.monotonic()
        self.shown = 0.0
        self.terminal = sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        if self.done:
            print(f"{self.stage}: {self.done} of {self.items} {self.unit} were done before", file=sys.stderr)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._show(last=True)

    def add(self, work: int = 0) -> None:
        """Count one more finished item that held `work` sentences, or whatever is counted."""
        self.done += 1
        self.counted += work
        if self.done < self.items and time.monotonic() - self.shown >= (1.0 if self.terminal else EVERY_S):
            self._show()

    def _show(self, last: bool = False) -> None:
        self.shown = time.monotonic()
        seconds = max(self.shown - self.started, 1e-9)
        line = f"{self.stage}: {self.done:,} of {self.items:,} {self.unit}"
        if self.work and self.counted:
            line += f", {self.counted:,} {self.work[0]}, {self.counted / seconds:,.0f} a second"
        fresh = self.done - self.earlier
        if last:
            line += f", {duration(seconds)}"
        elif fresh:
            line += f", about {duration(seconds / fresh * (self.items - self.done))} left"
        end = "\n" if last or not self.terminal else ""
        print(f"\r\033[K{line}" if self.terminal else line, end=end, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Return a time for people: `42 s`, `3 min`, `2 h 10 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
