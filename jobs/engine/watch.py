"""Ending rather than waiting: a job whose cluster is gone stops within a minute."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

from jobs.engine.item import EngineError
from jobs.engine.machines import machines_up

EVERY_S = 3.0
SILENCE_S = 40.0  # without a word of the cluster's head
LAST_S = 10.0  # for the main thread to notice


def cluster_is_up() -> bool:
    """Tell whether the cluster's head answers, and a node of it is alive."""
    return bool(machines_up())


class Watch:
    """Looks at the cluster as long as it is entered, and ends the wait for it with an error when it is gone.

    Args:
        is_up: asks the cluster; what it raises counts as silence.
        every, silence, last: seconds between two looks; of silence that are borne; that the main thread has to end.

    Raises:
        EngineError: on leaving, where the cluster is gone.
    """

    def __init__(
        self,
        is_up: Callable[[], bool] = cluster_is_up,
        every: float = EVERY_S,
        silence: float = SILENCE_S,
        last: float = LAST_S,
    ) -> None:
        self.is_up, self.every, self.silence, self.last = is_up, every, silence, last
        self.why = ""
        self.over = threading.Event()
        self.heard = time.monotonic()

    def __enter__(self) -> "Watch":
        # Two threads, since a question to a head that is gone may itself wait.
        for work in (self._ask, self._look):
            threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        if self.why:
            raise EngineError(self.why) from error

    def _ask(self) -> None:
        while not self.over.wait(self.every):
            try:
                up = self.is_up()
            except Exception:  # whatever it is, there was no answer
                continue
            self.heard = time.monotonic() if up else -self.silence

    def _look(self) -> None:
        while not self.over.wait(min(self.every, 1.0)):
            silent = time.monotonic() - self.heard
            if silent > self.silence:
                break
        else:
            return
        self.why = "the Ray cluster is gone (its head does not answer, or no machine is left); " + GOES_ON
        # A real signal: it also ends what the main thread waits for outside of Python.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        if not self.over.wait(self.last):
            # The main thread waits for Ray itself, which waits for ever.
            print(f"\nerror: {self.why}", file=sys.stderr, flush=True)
            os._exit(1)


GOES_ON = "what was finished is kept, and the same command goes on there"
