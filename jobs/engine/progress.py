"""The progress of a step: a live bar on a terminal or regular lines in a log, and an entry of run.json."""

import math
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from tqdm import tqdm

from ops.clock import duration, utc_now

EVERY_S = 10.0  # seconds between two lines of a log, or two updates of run.json
BAR = "{desc}: {n:,.0f} of {total:,.0f} {unit}{postfix} |{bar}| {elapsed}"
# An estimate of the time left needs this share of the work, or this many seconds: the first items include the start.
LEAST_SHARE, LEAST_S = 0.1, 20.0


class Progress:
    """Counts finished items and shows their number, the rate and the time left, or that it waits for the first one.

    The entry of the step in run.json is made from the same counts.

    Args:
        unit: what an item is (`shards`); a step without a unit is counted but not shown.
        done: the number of items that were finished before this start.
        work: what is counted inside the items (`sentences`), and their total number, finished items included; the
            number is None if it is unknown.
        under_way: returns how many of the things counted in `work` are done in unfinished items.
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
        self.last: str | None = None  # time at which the last item was finished
        self.said = -math.inf  # time at which the last line was printed to a log
        self.every, self.under_way = every, under_way
        self.over = threading.Event()
        self.ticks = threading.Thread(target=self._tick, daemon=True)
        self.bar: tqdm | None = None

    def __enter__(self) -> "Progress":
        if not self.unit:
            return self
        if sys.stderr.isatty():
            size = shutil.get_terminal_size()  # a standard size if the terminal reports none
            self.bar = tqdm(
                desc=self.stage, total=self.items, initial=self.done, unit=self.unit, bar_format=BAR, smoothing=0,
                file=sys.stderr, leave=False, ncols=size.columns, nrows=size.lines,
            )  # fmt: skip
        elif self.done:
            say(f"{self.stage}: {self.done:,} of {self.items:,} {self.unit} were already done")
        self.ticks.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if not self.unit:
            return
        self.over.set()
        self.ticks.join()
        if self.bar is not None:
            self.bar.close()
        if kind is None:
            before = f" ({self.earlier:,} already done)" if self.bar is not None and self.earlier else ""
            say(_listed(f"{self._counts()}{before}", self._rate(), duration(self._seconds())))

    def add(self, work: int = 0) -> None:
        """Count one more finished item that held `work` sentences, or other things that are counted."""
        self.done += 1
        self.counted += work
        self.last = utc_now()
        if not self.unit:
            return
        if self.bar is not None:
            self.bar.set_postfix_str(self._rate_and_left(), refresh=False)
            self.bar.update()
        elif self.done < self.items and time.monotonic() - self.said >= self.every:
            self._say(_listed(self._counts(), self._rate_and_left()))

    def is_due(self) -> bool:
        """Tell whether run.json must be written now, and note that it is: at the first item, then regularly."""
        now = time.monotonic()
        if self.done - self.earlier > 1 and now - self.written < self.every:
            return False
        self.written = now
        return True

    def entry(self) -> dict[str, Any]:
        """Return the entry of run.json; `rate` is in sentences per second, or in items if no sentences are counted."""
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
        # Print something too before the first item is done and between two slow items.
        while not self.over.wait(self.every if self.bar is None else 1.0):
            inside = self.under_way() if self.work else 0
            if self.bar is not None:
                self.bar.set_postfix_str(self._rate_and_left(inside))
            elif inside and time.monotonic() - self.said >= self.every:
                self._say(_listed(self._counts(), self._rate_and_left(inside)))
            elif not inside and self.done == self.earlier:
                say(f"{self._counts()}, waiting for the first, {duration(self._seconds())}")

    def _say(self, line: str) -> None:
        self.said = time.monotonic()
        say(line)

    def _rate_and_left(self, inside: int = 0) -> str:
        """Return in words the rate and the time left, if they are known.

        The time left is estimated from the sentences done, `inside` of them in unfinished items, or else from the
        finished items.
        """
        done, of = float(self.done - self.earlier), float(self.items - self.earlier)
        if self.work and self.work[1] and self.counted + inside:
            done, of = self.counted + inside, self.work[1] * of / self.items
        seconds, left = self._seconds(), ""
        if done and (done >= LEAST_SHARE * of or seconds >= LEAST_S):
            left = f"about {duration(max(of / done - 1, 0.0) * seconds)} left"
        return _listed(self._rate(inside), left)

    def _seconds(self) -> float:
        return max(time.monotonic() - self.started, 1e-9)

    def _counts(self) -> str:
        return f"{self.stage}: {self.done:,} of {self.items:,} {self.unit}"

    def _rate(self, inside: int = 0) -> str:
        done = self.counted + inside
        if not self.work or not done:
            return ""
        return f"{done:,} {self.work[0]}, {done / self._seconds():,.0f} a second"


def _listed(*parts: str) -> str:
    """Return the parts that are not empty, separated by commas."""
    return ", ".join(filter(None, parts))


def say(line: str) -> None:
    """Print a permanent line, above the progress bar if there is one."""
    with tqdm.external_write_mode(file=sys.stderr) if sys.stderr.isatty() else nullcontext():
        print(line, file=sys.stderr, flush=True)
