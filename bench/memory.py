"""Records the memory of a process and of all its descendants over time, from /proc."""

import os
import threading
import time
from pathlib import Path
from types import TracebackType

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


def descendants(root: int) -> list[tuple[int, str, int]]:
    """Return the pid, the start of the command line, and the resident bytes of a process and all its descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue  # the process has ended
    page = os.sysconf("SC_PAGE_SIZE")
    found = []
    for pid in parents:
        above = pid
        while above not in (root, 0, 1):
            above = parents.get(above, 0)
        if above != root:
            continue
        try:
            name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
            resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
        except (OSError, IndexError):
            continue
        found.append((pid, name.strip(), resident))
    return found
