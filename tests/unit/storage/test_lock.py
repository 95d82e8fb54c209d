import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from ops.errors import InputError, LostRunError
from ops.storage import lock
from ops.storage.lock import LOCK, Lock, check_holder, read_lock
from ops.storage.store import Store, View

ROOT = Path(__file__).parents[3]
HOLDER = """
import sys, time
from ops.storage.lock import Lock
from ops.storage.store import Store
held = Lock(Store(sys.argv[1]), "topk")
try:
    held.take()
except ValueError as error:
    print(f"refused: {error}", flush=True)
    sys.exit(2)
print("held", flush=True)
time.sleep(float(sys.argv[2]))
held.release()
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def start(folder: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(folder), str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def on_another_machine(store: Store, beat: int = 1) -> None:
    held = {"token": "theirs", "place": "elsewhere", "host": "node-7", "pid": 12, "started": "1", "work": "psi"}
    store.write_json(LOCK, {**held, "since": "2026-01-02T03:04:05Z", "beat": beat})


@contextmanager
def beating(store: Store) -> Iterator[None]:
    """The other machine's job gives signs of life."""
    end = threading.Event()

    def beat() -> None:
        count = 1
        while not end.wait(0.05):
            count += 1
            on_another_machine(store, count)

    thread = threading.Thread(target=beat)
    thread.start()
    yield
    end.set()
    thread.join()


def test_a_living_job_is_named_and_a_dead_one_is_taken_over(store: Store, tmp_path: Path) -> None:
    with start(tmp_path, 60) as process:
        assert line(process) == "held"
        said = rf"another job holds this run: topk, process {process.pid} on \S+, since 2\S+; wait for it"
        with pytest.raises(InputError, match=said):
            Lock(store, "psi").take()
        process.send_signal(signal.SIGKILL)
        process.wait()
        own = Lock(store, "psi")
        own.take()
    assert (read_lock(store) or {})["token"] == own.token
    own.release()
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_of_many_jobs_at_once_one_holds_the_run(tmp_path: Path) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(start(tmp_path, 4)) for _ in range(6)]
        said = [line(process) for process in processes]
    assert sorted(text.split(":")[0] for text in said) == ["held", *["refused"] * 5]
    assert sorted(process.returncode for process in processes) == [0, *[2] * 5]
    assert os.listdir(tmp_path) == []


def test_a_job_on_another_machine_is_dead_once_it_gives_no_sign(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    on_another_machine(store)
    own = Lock(store, "topk")
    own.dead_s = 1.0
    with beating(store), pytest.raises(InputError, match="psi, process 12 on node-7, since 2026-01-02T03:04:05Z"):
        own.take()
    own.take()
    assert "held by process 12 on node-7: checking for 1 s whether it is still running" in capsys.readouterr().err
    assert (read_lock(store) or {})["token"] == own.token
    own.release()


def test_signs_of_life_are_given_until_the_run_is_released_and_another_s_lock_is_left_alone(store: Store) -> None:
    own = Lock(store, "topk")
    own.beat_s = 0.05
    own.take()
    until = time.monotonic() + 20
    while (read_lock(store) or {})["beat"] < 3:
        assert time.monotonic() < until
        time.sleep(0.02)
    own.release()
    time.sleep(0.2)
    assert read_lock(store) is None
    other = Lock(store, "topk")
    other.take()
    on_another_machine(store)
    other.release()
    assert (read_lock(store) or {})["token"] == "theirs"


def test_a_run_that_another_job_took_over_and_released_is_not_taken_back(store: Store) -> None:
    own = Lock(store, "topk")
    own.beat_s = 0.01
    own.take()
    store.delete(LOCK)
    time.sleep(0.2)
    assert read_lock(store) is None
    with pytest.raises(LostRunError, match="was given back"):
        check_holder(store, own.token)
    own.release()


def test_a_heartbeat_on_its_way_leaves_no_lock_behind(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On object storage, where a heartbeat and the release do not exclude each other."""
    monkeypatch.setattr(lock, "SETTLE_S", 0.0)
    store.local, under_way = False, threading.Event()

    def upload(path: str, name: str) -> None:
        if under_way.is_set():
            time.sleep(0.1)
        os.replace(path, name)

    monkeypatch.setattr(store, "_upload", upload)
    own = Lock(store, "topk")
    own.beat_s = 0.01
    own.take()
    under_way.set()
    time.sleep(0.05)
    own.release()
    time.sleep(0.2)
    assert os.listdir(tmp_path) == []


def test_a_process_is_the_same_one_after_the_clock_is_set(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Lock(store, "topk")._said["started"]
    booted = psutil.boot_time()
    monkeypatch.setattr("psutil._psplatform.boot_time", lambda: booted + 3600)
    assert Lock(store, "topk")._said["started"] == before


def test_what_is_no_lock_holds_nobody_up(store: Store, tmp_path: Path) -> None:
    for text in ("", "[]", "{", '{"token": 1}', "\x00"):
        (tmp_path / LOCK).write_text(text)
        own = Lock(store, "topk")
        own.take()
        assert json.loads((tmp_path / LOCK).read_text())["token"] == own.token
        own.release()


@pytest.mark.parametrize("released", [True, False])
def test_a_late_worker_of_an_older_job_puts_nothing_in_place(store: Store, tmp_path: Path, released: bool) -> None:
    own = Lock(store, "topk")
    own.take()
    late = store.seen_by(View(guard=partial(check_holder, token=own.token)))
    late.commit("a", lambda path: Path(path).touch())
    if released:
        own.release()
    else:
        on_another_machine(store)
    with pytest.raises(LostRunError, match=r"was given back" if released else "was taken over by process 12 on node-7"):
        late.commit("b", lambda path: Path(path).touch())
    assert sorted(name for name in os.listdir(tmp_path) if name != LOCK) == ["a"]
    own.release()
