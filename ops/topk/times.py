"""The time spent in each part of a pass over the corpus."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ops.clock import duration


class Times:
    """The wall-clock seconds of each part of a stage; across machines they are only as accurate as the clocks agree.

    `start_up` is the time from the creation of this object to the start of a worker's first shard, without the pilot.
    It is averaged over all workers, because one may already score while another loads its model. `score` is the time
    from then to the end of the last shard. `worker_cpu` is the processor time that all workers spent on shards. The
    work of an earlier, interrupted run is not included.
    """

    def __init__(self) -> None:
        self.begun = time.time()
        self.seconds = {"start_up": 0.0, "pilot": 0.0, "score": 0.0, "worker_cpu": 0.0, "merge": 0.0}
        self.sentences = 0

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Add the time spent inside this context to a part."""
        started = time.time()
        yield
        self.seconds[part] += time.time() - started

    def count(self, rows: Iterable[dict[str, Any]]) -> None:
        """Add the rows of all shards of one round.

        A row contains the number of `sentences`, the name of the `worker`, the wall-clock times `began` and `ended`,
        and the processor time `cpu` in seconds.
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
        """Return the seconds of each part, rounded to milliseconds."""
        return {part: round(seconds, 3) for part, seconds in self.seconds.items()}

    def __str__(self) -> str:
        s = self.seconds
        rate = f", {self.sentences / s['score']:,.0f} sentences a second" if s["score"] else ""
        return (
            f"start-up {duration(s['start_up'])}, pilot {duration(s['pilot'])}, "
            f"scoring {duration(s['score'])}{rate}, merge {duration(s['merge'])}"
        )
