"""Ending the processes that a test has started, and theirs."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress


def end_all(left: Callable[[], list[int]]) -> None:
    """Kill the processes that are left until none is; not by `ray stop`, which would end every Ray of this machine."""
    while pids := left():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
