"""The time spent in each part of a pass over the corpus."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ops.clock import duration


class Times:
    """Seconds of a stage by part, in wall-clock time; across machines they are as accurate as the clocks agree.

    `start_up` runs from the creation of this object to the start of a worker's first shard, without the pilot, averaged
    over all workers; while one loads its model, another may already score. `score` runs from there to the end of the
    last shard. `worker_cpu` is the processor time that all workers spent on shards. Work of an earlier, interrupted run
    is not included.
    """

    def __init__(self) -> None:
        self.begun = time.time()
        self.seconds = {"start_up": 0.0, "pilot": 0.0, "score": 0.0, "worker_cpu": 0.0, "merge": 0.0}
        self.sentences = 0

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Add the time spent inside to a part."""
        started = time.time()
        yield
        self.seconds[part] += time.time() - started

    def count(self, rows: Iterable[dict[str, Any]]) -> None:
        """Add the rows of all shards of one round.

        A row holds `sentences`, the `worker`'s name, `began` and `ended` by the wall clock, and its seconds of `cpu`.
        """
        rows = list(rows)
        if not rows:
            return
        begun: dict[str, float] = {}
        for row in rows:
            begun[row["worker"]] = min(row["began"], begun.get(row["worker"], row["began"]))
        first = sum(begun.values()) / len(begun)
        if not self.sentences:
            self.seconds["start_up"] = max(first - self.begun - self.seconds["pilot"], 0.0)
        self.seconds["score"] += max(row["ended"] for row in rows) - first
        self.seconds["worker_cpu"] += sum(row["cpu"] for row in rows)
        self.sentences += sum(row["sentences"] for row in rows)

    def result(self) -> dict[str, float]:
        """Return the seconds of each part, rounded."""
        return {part: round(seconds, 3) for part, seconds in self.seconds.items()}

    def __str__(self) -> str:
        s = self.seconds
        rate = f", {self.sentences / s['score']:,.0f} sentences a second" if s["score"] else ""
        return (
            f"start-up {duration(s['start_up'])}, pilot {duration(s['pilot'])}, "
            f"scoring {duration(s['score'])}{rate}, merge {duration(s['merge'])}"
        )
