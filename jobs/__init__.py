"""The jobs: what runs where. `python -m jobs` lists them. The only folder that imports Ray."""

import os
import signal
import sys
from types import FrameType, TracebackType

from ops.errors import STOPPED, TerminatedError


def _terminate(number: int, frame: FrameType | None) -> None:
    raise TerminatedError


def _say_stopped(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print(f"\n{STOPPED}", file=sys.stderr, flush=True)
        if issubclass(kind, TerminatedError):
            os._exit(128 + signal.SIGTERM)  # Python itself knows the exit status of Ctrl-C alone
    else:
        sys.__excepthook__(kind, error, trace)


# Under `python -m jobs.NAME` this is the first of our code that runs: what is imported next takes seconds, and who
# stops a job meanwhile gets the same line as later. A program that imports the jobs keeps its own signals.
if sys.argv[:1] == ["-m"]:
    sys.excepthook = _say_stopped
    signal.signal(signal.SIGTERM, _terminate)
