"""A watch that stops a job within a minute if its cluster is gone, so that it does not wait forever."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from jobs.engine.item import EngineError
from jobs.engine.machines import machines_up

EVERY_S = 3.0
SILENCE_S = 40.0  # seconds without an answer from the cluster's head
LAST_S = 10.0  # seconds for the main thread to notice


def own_node() -> "subprocess.Popen[bytes] | None":
    """Return the node process of the Ray that this process started; None if it joined an existing cluster."""
    from ray._private import worker

    node = getattr(worker, "_global_node", None)
    found = node.all_processes.get("raylet") if node is not None else None
    return found[0].process if found else None


class Watch:
    """A context that checks the cluster regularly, and ends with an error if the cluster is gone.

    If the node process of this machine's own Ray ends, this process ends at once with one line. Otherwise Ray would end
    it seconds later from outside Python with long output, or wait for half a minute or more.

    Args:
        is_up: asks the cluster, whose answer is true if a machine is up; an exception counts as silence.
        node: returns the node process of this machine's own Ray.
        every, silence, last: the seconds between two checks, the maximum seconds of silence, and the seconds that the
            main thread gets to end.

    Raises:
        EngineError: the cluster is gone; raised when the context is left.
    """

    def __init__(
        self,
        is_up: Callable[[], object] = machines_up,
        node: "Callable[[], subprocess.Popen[bytes] | None]" = own_node,
        every: float = EVERY_S,
        silence: float = SILENCE_S,
        last: float = LAST_S,
    ) -> None:
        self.is_up, self.node, self.every, self.silence, self.last = is_up, node, every, silence, last
        self.why = ""
        self.over = threading.Event()
        self.silent = 0.0  # seconds since the last answer, without those for which this process was stopped

    def __enter__(self) -> "Watch":
        # One thread for each check, since a request to a head that is gone may block.
        for work in (self._ask, self._look, self._look_at_node):
            threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.over.set()
        if self.why:
            raise EngineError(self.why) from error

    def _ask(self) -> None:
        while not self.over.wait(self.every):
            try:
                up = self.is_up()
            except Exception:  # any exception means that there was no answer
                continue
            self.silent = 0.0 if up else self.silence

    def _look(self) -> None:
        pause = min(self.every, 1.0)
        while not self.over.wait(pause):
            self.silent += pause
            if self.silent > self.silence:
                break
        else:
            return
        self.why = "the Ray cluster is gone (its head does not answer, or no machine is left); " + GOES_ON
        # A real signal also interrupts a wait of the main thread outside Python.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        if not self.over.wait(self.last):
            # The main thread is inside Ray, which waits forever.
            _exit(self.why)

    def _look_at_node(self) -> None:
        node = self.node()
        while node is not None and not self.over.wait(min(self.every, 0.25)):
            if node.poll() is None:
                continue
            _exit(f"the node process of Ray on this machine has ended (killed, or out of memory); {GOES_ON}")


def _exit(why: str) -> NoReturn:
    print(f"\nerror: {why}", file=sys.stderr, flush=True)
    os._exit(1)


GOES_ON = "finished work is kept: give the same command again to resume"
