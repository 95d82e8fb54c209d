"""How far a step has come: a live bar on a terminal or a line now and then in a log, and an entry of run.json."""

import math
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from types import TracebackType
from typing import Any

from tqdm import tqdm

from ops.clock import duration, utc_now

EVERY_S = 10.0  # between two lines of a log, or two entries of run.json
BAR = "{desc}: {n:,.0f} of {total:,.0f} {unit}{postfix} |{bar}| {elapsed}<{remaining}"


class Progress:
    """Counts finished items and shows them, the rate and the time left; before the first one ends, that it waits.

    The same counts make the entry of the step in run.json.

    Args:
        stage: name shown first.
        items: number of items in all.
        unit: what an item is (`shards`); a step without one is counted and not shown.
        done: items that were finished before this start.
        work: what is counted inside the items (`sentences`), and how many there are in all, those of `done` included;
            None where nobody knows.
        every: seconds between two lines of a log.
        under_way: returns how much of `work` is done in items that are not finished.
    """

    def __init__(
        self,
        stage: str,
        items: int,
        unit: str,
        done: int = 0,
        work: tuple[str, int | None] | None = None,
        every: float = EVERY_S,
        under_way: Callable[[], int] = int,
    ) -> None:
        self.stage, self.items, self.unit, self.done, self.work = stage, items, unit, done, work
        self.earlier = done
        self.counted = 0
        self.started = self.written = time.monotonic()
        self.last: str | None = None  # when the last item was finished
        self.said = -math.inf  # when the last line of a log was
        self.every, self.under_way = every, under_way
        self.over = threading.Event()
        self.ticks = threading.Thread(target=self._tick, daemon=True)
        self.bar: tqdm | None = None

    def __enter__(self) -> "Progress":
        if not self.unit:
            return self
        if sys.stderr.isatty():
            size = shutil.get_terminal_size()  # a standard one where the terminal says none
            self.bar = tqdm(
                desc=self.stage, total=self.items, initial=self.done, unit=self.unit, bar_format=BAR, smoothing=0,
                file=sys.stderr, leave=False, ncols=size.columns, nrows=size.lines,
            )  # fmt: skip
        elif self.done:
            say(f"{self.stage}: {self.done:,} of {self.items:,} {self.unit} were already done")
        self.ticks.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.unit:
            return
        self.over.set()
        self.ticks.join()
        if self.bar is not None:
            self.bar.close()
        if kind is None:
            before = f" ({self.earlier:,} already done)" if self.bar is not None and self.earlier else ""
            say(f"{self._counts()}{before}{self._rate()}, {duration(self._seconds())}")

    def add(self, work: int = 0) -> None:
        """Count one more finished item that held `work` sentences, or whatever is counted."""
        self.done += 1
        self.counted += work
        self.last = utc_now()
        if not self.unit:
            return
        if self.bar is not None:
            self.bar.set_postfix_str(self._rate().removeprefix(", "), refresh=False)
            self.bar.update()
        elif self.done < self.items and time.monotonic() - self.said >= self.every:
            left = self._seconds() / (self.done - self.earlier) * (self.items - self.done)
            self._say(f"{self._counts()}{self._rate()}, about {duration(left)} left")

    def is_due(self) -> bool:
        """Tell whether run.json is to be written, and take it as written: at the first item, then now and then."""
        now = time.monotonic()
        if self.done - self.earlier > 1 and now - self.written < self.every:
            return False
        self.written = now
        return True

    def entry(self) -> dict[str, Any]:
        """Return the entry of run.json: `rate` is sentences a second, or items where no sentences are counted."""
        unit = self.unit or "items"
        counted = self.counted or self.done - self.earlier
        return {
            "step": self.stage,
            "unit": unit,
            "done": self.done,
            "of": self.items,
            "rate": round(counted / self._seconds(), 3),
            "rate_of": "sentences" if self.counted else unit,
            "last_commit": self.last,
        }

    def _tick(self) -> None:
        # What takes long before its first item is done, or between two items, is not silent.
        while not self.over.wait(self.every if self.bar is None else 1.0):
            inside = self.under_way() if self.work else 0
            if self.bar is not None:
                if inside:
                    self.bar.set_postfix_str(self._rate(inside).removeprefix(", "), refresh=False)
                self.bar.refresh()
            elif inside and time.monotonic() - self.said >= self.every:
                self._say(f"{self._counts()}{self._rate(inside)}{self._left(inside)}")
            elif not inside and self.done == self.earlier:
                say(f"{self._counts()}, waiting for the first, {duration(self._seconds())}")

    def _say(self, line: str) -> None:
        self.said = time.monotonic()
        say(line)

    def _left(self, inside: int) -> str:
        """Return in words what the rest takes by the sentences that are done, `inside` of them in unfinished items."""
        done = self.counted + inside
        if not self.work or self.work[1] is None or not done:
            return ""
        all_of_now = self.work[1] * (self.items - self.earlier) / self.items
        return f", about {duration(max(all_of_now / done - 1, 0.0) * self._seconds())} left"

    def _seconds(self) -> float:
        return max(time.monotonic() - self.started, 1e-9)

    def _counts(self) -> str:
        return f"{self.stage}: {self.done:,} of {self.items:,} {self.unit}"

    def _rate(self, inside: int = 0) -> str:
        done = self.counted + inside
        if not self.work or not done:
            return ""
        return f", {done:,} {self.work[0]}, {done / self._seconds():,.0f} a second"


def say(line: str) -> None:
    """Print a line that stays, above the bar where one is shown."""
    with tqdm.external_write_mode(file=sys.stderr) if sys.stderr.isatty() else nullcontext():
        print(line, file=sys.stderr, flush=True)
