"""Ends the processes of this machine's own Ray once the process that started it has ended, in whatever way.

Ray ends its processes too, but on a busy machine a worker may outlive its node. So a small process without any imports
of the project, this file run as a program, waits for the end of its parent and then kills what is left.
"""

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache

import psutil

EVERY_S = 0.5
LAST_S = 60.0  # seconds after which processes that cannot be killed are left


@cache
def start_cleaner() -> "subprocess.Popen[bytes]":
    """Start the process that ends this process's Ray after it."""
    # In a session of its own, it outlives signals to the process group of a terminal or a batch system.
    command, null = [sys.executable, "-I", __file__, str(os.getpid())], subprocess.DEVNULL
    return subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)


def of_ray(pid: int) -> list[psutil.Process]:
    """Return the processes of the Ray that a process of this machine started.

    Each of them writes a log into Ray's session folder, whose name ends with that process's id. A variable would not
    identify them, because Ray overwrites the environment that other processes see when it names its processes.
    """
    session = re.compile(rf"/session_[-_\d]+_{pid}/")
    processes = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has ended, or is another user's
            written = (file.path for file in process.open_files() if file.mode != "r")
            if process.pid != pid and any(map(session.search, written)):
                processes.append(process)
    return processes


def clean(parent: int) -> None:
    """Wait until the parent of this process is no longer `parent`, and kill the processes of its Ray."""
    while os.getppid() == parent:
        time.sleep(EVERY_S)
    until = time.monotonic() + LAST_S
    while (left := of_ray(parent)) and time.monotonic() < until:
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(EVERY_S / 10)


if __name__ == "__main__":
    clean(int(sys.argv[1]))
