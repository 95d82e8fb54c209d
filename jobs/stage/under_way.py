"""What run.json says of a stage under way: the step, how far it is, how fast, and when it last came further."""

import time
from datetime import UTC, datetime
from typing import Any

from ops.clock import utc_now

EVERY_S = 10.0  # seconds between two writes of run.json
RECENT_S = 600.0  # a stage that came further within so many seconds is taken to be at work


class UnderWay:
    """Counts the items of a step that were done.

    Args:
        step: its name.
        unit: what an item is.
        done: items that were done before.
        of: items in all.
    """

    def __init__(self, step: str, unit: str, done: int, of: int) -> None:
        self.step, self.unit, self.done, self.of = step, unit or "items", done, of
        self.fresh = self.sentences = 0
        self.started = self.written = time.monotonic()
        self.last: str | None = None

    def add(self, sentences: int) -> None:
        """Count one more finished item."""
        self.done += 1
        self.fresh += 1
        self.sentences += sentences
        self.last = utc_now()

    def is_due(self) -> bool:
        """Tell whether the record is to be written, and take it as written: at the first item, then now and then."""
        now = time.monotonic()
        if self.fresh > 1 and now - self.written < EVERY_S:
            return False
        self.written = now
        return True

    def entry(self) -> dict[str, Any]:
        """Return it as run.json has it: `rate` is sentences a second, or items where no sentences are counted."""
        seconds = max(time.monotonic() - self.started, 1e-9)
        counted = self.sentences or self.fresh
        return {
            "step": self.step,
            "unit": self.unit,
            "done": self.done,
            "of": self.of,
            "rate": round(counted / seconds, 3),
            "rate_of": "sentences" if self.sentences else self.unit,
            "last_commit": self.last,
        }


def how_far(progress: dict[str, Any]) -> str:
    """Return in words how far a stage is, and where it is likely at work that one should wait for it."""
    text = f"{progress['step']}: {progress['done']:,} of {progress['of']:,} {progress['unit']}"
    if progress["last_commit"] is None:
        return text
    ago = (datetime.now(UTC) - datetime.fromisoformat(progress["last_commit"])).total_seconds()
    if ago > RECENT_S:
        return f"{text}, the last at {progress['last_commit']}"
    return f"{text}, the last {max(ago, 0):.0f} s ago; a job is likely at it: wait for it"
