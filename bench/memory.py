"""Records the memory of a process and of all its descendants over time."""

import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil

EVERY_S = 1.0


class MemoryWatch:
    """Records the resident memory of every descendant of a process, in bytes, each second while this context is open.

    Attributes:
        series: for each process, by (pid, name), the pairs (seconds since the start, bytes) in order.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.series: dict[tuple[int, str], list[tuple[float, int]]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def peak(self, name: str) -> int:
        """Return the highest memory of any process whose name contains `name`; 0 if there was no such process."""
        return max((size for (_, own), pairs in self.series.items() if name in own for _, size in pairs), default=0)

    def _run(self) -> None:
        started = time.monotonic()
        while not self._stop.wait(EVERY_S):
            for pid, name, resident in descendants(self.pid):
                self.series.setdefault((pid, name), []).append((time.monotonic() - started, resident))


def resident() -> dict[str, int]:
    """Return this process's current and highest resident memory in bytes, under the names that /proc uses.

    The names are VmRSS and VmHWM. Unlike `ru_maxrss`, VmHWM never is that of the parent process.
    """
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[0] in ("VmRSS:", "VmHWM:")}


def descendants(root: int) -> list[tuple[int, str, int]]:
    """Return the pid, the start of the command line, and the resident bytes of a process and all its descendants."""
    found = []
    with suppress(psutil.Error):
        parent = psutil.Process(root)
        for process in [parent, *parent.children(recursive=True)]:
            with suppress(psutil.Error):
                name = " ".join(process.cmdline())[:200].strip()
                found.append((process.pid, name, process.memory_info().rss))
    return found
