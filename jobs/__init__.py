"""The jobs, which decide what runs where; `atlas` lists them. Only this folder imports Ray."""

import os
import signal
import sys
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TextIO, cast

from ops.errors import STOPPED, TerminatedError, close_for_good


class _Messages:
    """Standard error, but a reader who closes it does not end the work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            close_for_good(self._stream)
            return len(text)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise TerminatedError


def _say_stopped(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print(f"\n{STOPPED}", file=sys.stderr, flush=True)
        if issubclass(kind, TerminatedError):
            os._exit(128 + signal.SIGTERM)  # Python itself sets the exit status only for Ctrl-C
    else:
        sys.__excepthook__(kind, error, trace)


# Under `atlas` and `python -m jobs.NAME` this is the first project code that runs. The next imports take seconds, and a
# user who stops a job during them gets the same message as later. A program that imports the jobs keeps its own signal
# handlers.
if sys.argv and Path(sys.argv[0]).name in ("atlas", "-m"):
    sys.stderr = cast(TextIO, _Messages(sys.stderr)) if sys.stderr else sys.stderr
    sys.excepthook = _say_stopped
    signal.signal(signal.SIGTERM, _terminate)
