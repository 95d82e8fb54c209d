"""Jobs as processes of their own: started, killed as by kill -9 in the middle, and ended with all that they started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bench.resources import descendants
from tests.conftest import ROOT

MOST_S = 240  # that a test waits for what a job is to do
Process = subprocess.Popen[bytes]


def end_all(left: Callable[[], list[int]]) -> None:
    """Kill the processes that are left until none is; not by `ray stop`, which would end every Ray of this machine."""
    while pids := left():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def start_job(job: str, log: Path, *flags: object, **env: str) -> Process:
    """Start `python -m jobs.<job>` in a process group of its own, as in a terminal; what it says goes to `log` alone.

    Args:
        job: its name.
        log: file for its standard error; previous contents are overwritten.
        flags: of the command line.
        env: variables of its environment, in addition to those of this process.
    """
    # Ray writes to standard output what it sees of dead workers, whenever it likes.
    with log.open("wb") as stream, log.with_suffix(".ray").open("ab") as own:
        return subprocess.Popen(
            [sys.executable, "-m", f"jobs.{job}", *map(str, flags)],
            cwd=ROOT, env={**os.environ, **env}, stdout=own, stderr=stream, start_new_session=True,
        )  # fmt: skip


def wait_until(there: Callable[[], object], job: Process, log: Path) -> None:
    """Wait until something is there that a job makes, which must not end before."""
    deadline = time.monotonic() + MOST_S
    while not there():
        assert job.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)


def kill_when(there: Callable[[], object], job: Process, log: Path) -> None:
    """Send kill -9 to a job and to the processes of its Ray as soon as something is there, and see them gone."""
    wait_until(there, job, log)
    own = [pid for pid, *_ in descendants(job.pid)]
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    end_all(lambda: [pid for pid in own if is_alive(pid)])


def is_alive(pid: int) -> bool:
    """Tell whether a process is running; a zombie, which nobody has waited for, is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def committed(folder: Path, names: str = "*.parquet") -> dict[str, int]:
    """Return when each finished file of a folder that matches a pattern was put in place, by its path in the folder."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.glob(names)}
