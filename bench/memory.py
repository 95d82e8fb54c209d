"""Records the memory of a process and of all its descendants over time."""

import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

EVERY_S = 1.0


class MemoryWatch:
    """Records the resident memory of every descendant of a process, in bytes, each second while this context is open.

    Attributes:
        peaks: each process's highest resident memory, by (pid, name).
        series: for each process, the pairs (seconds since the start, bytes) in order.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.peaks: dict[tuple[int, str], int] = {}
        self.series: dict[tuple[int, str], list[tuple[float, int]]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def peak(self, name: str) -> int:
        """Return the highest memory of any process whose name contains `name`; 0 if there was no such process."""
        return max((peak for (_, own), peak in self.peaks.items() if name in own), default=0)

    def _run(self) -> None:
        started = time.monotonic()
        while not self._stop.wait(EVERY_S):
            for pid, name, resident in descendants(self.pid):
                key = (pid, name)
                self.peaks[key] = max(self.peaks.get(key, 0), resident)
                self.series.setdefault(key, []).append((time.monotonic() - started, resident))


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
