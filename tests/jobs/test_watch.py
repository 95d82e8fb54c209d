"""A job whose cluster is gone ends: in the main thread where that listens, else with the process."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from jobs.engine.item import EngineError
from jobs.engine.watch import Watch
from tests.conftest import ROOT


def test_as_long_as_the_cluster_answers_nothing_happens() -> None:
    with Watch(lambda: True, lambda: None, every=0.01, silence=0.2):
        time.sleep(0.5)


@pytest.fixture
def listening() -> Iterator[None]:
    """The signal that ends a wait is heard, as it is not by what a script starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("answer", ["no machine", "an error"])
def test_a_wait_ends_in_an_error(listening: None, answer: str) -> None:
    def is_up() -> bool:
        if answer == "an error":
            raise ConnectionError("no head")
        return False

    began = time.monotonic()
    with (
        pytest.raises(EngineError, match="the Ray cluster is gone"),
        Watch(is_up, lambda: None, every=0.02, silence=0.1),
    ):
        time.sleep(30)
    assert time.monotonic() - began < 20


STOPPED = """
import time
from jobs.engine.watch import Watch
def is_up():
    time.sleep(0.3)
    return True
with Watch(is_up, lambda: None, every=0.02, silence=1.0):
    print("watching", flush=True)
    time.sleep(2.5)
"""


def test_the_time_for_which_the_job_was_stopped_is_no_silence() -> None:
    """As after Ctrl-Z and fg."""
    command = [sys.executable, "-c", STOPPED]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "watching\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        assert process.communicate(timeout=25)[1] == ""
    assert process.returncode == 0


def test_what_is_raised_inside_is_raised() -> None:
    with pytest.raises(ArithmeticError), Watch(lambda: True, lambda: None, every=0.01):
        raise ArithmeticError


STUCK = """
import signal, threading, time
from jobs.engine.watch import Watch
signal.signal(signal.SIGINT, signal.SIG_IGN)
with Watch(lambda: False, lambda: None, every=0.02, silence=0.1, last=0.3):
    time.sleep(60)
"""


def test_a_main_thread_that_does_not_listen_goes_with_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STUCK], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines()[-1].startswith("error: the Ray cluster is gone")


NODE = """
import subprocess, sys, time
from jobs.engine.watch import Watch
node = subprocess.Popen(["sleep", sys.argv[1]])
with Watch(lambda: True, lambda: node):
    time.sleep(float(sys.argv[2]))
node.wait()
time.sleep(0.3)
print("went on")
"""


@pytest.mark.parametrize(("node", "work", "status"), [(0.3, 30, 1), (1, 0.3, 0)])
def test_a_node_process_that_ends_ends_the_job_at_once_and_none_afterwards(
    node: float, work: float, status: int
) -> None:
    command = [sys.executable, "-c", NODE, str(node), str(work)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=25, check=False)
    assert ended.returncode == status, ended.stderr
    assert ended.stdout == ("" if status else "went on\n")
    last = "error: the node process of Ray on this machine has ended" if status else ""
    assert ended.stderr.strip().startswith(last)
