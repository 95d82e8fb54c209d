"""The engine: every item's row comes back, what is wrong with the input is told as such, reading may run apart."""

import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
import pytest
import torch

from jobs.engine.connect import check_address, connect, stays_here
from jobs.engine.fan_out import Spread, fan_out
from jobs.engine.item import EngineError
from jobs.engine.stream import share_out
from jobs.engine.under_way import EVERY_S, counting, sentences_under_way
from jobs.run_folder.run_json import check_out
from ops.errors import InputError, StorageError

pytestmark = pytest.mark.usefixtures("actors")

PAIR = Spread(workers=2, holds={"cpus": 0.5})
ACTORS = replace(PAIR, actors=True)


class Square:
    """Squares a number; refuses one."""

    def __init__(self, refused: int = -1, kind: type[InputError] = InputError) -> None:
        self.refused, self.kind = refused, kind

    def __call__(self, item: dict[str, Any], prepared: Any) -> dict[str, Any]:
        if item["n"] == self.refused:
            raise self.kind(f"item {item['n']} is wrong; leave it out")
        return {"n": item["n"], "square": item["n"] ** 2, "prepared": prepared, "pid": os.getpid()}


def tripled(item: dict[str, Any]) -> int:
    return int(item["n"]) * 3


@pytest.mark.parametrize("actors", [False, True])
def test_every_item_once(shared_ray: None, actors: bool) -> None:
    items = [{"n": n} for n in range(9)]
    found = list(fan_out(items, Square, {}, replace(PAIR, actors=actors), name="test"))
    assert sorted((f["n"], f["square"]) for f in found) == [(n, n * n) for n in range(9)]
    assert os.getpid() not in {f["pid"] for f in found}


class Reader:
    """Reads two batches of five sentences, and then waits until the driver has heard of the first."""

    def __init__(self, heard: str) -> None:
        self.heard = Path(heard)

    def __call__(self, item: dict[str, Any], prepared: Any) -> dict[str, Any]:
        for number, _ in enumerate(counting(iter([(range(5),)] * 3))):
            if number == 1:
                time.sleep(EVERY_S)
        while not self.heard.exists():
            time.sleep(0.01)
        return {"n": item["n"]}


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_driver_hears_of_sentences_before_their_item_is_done(
    shared_ray: None, tmp_path: Path, workers: int
) -> None:
    found: list[dict[str, Any]] = []
    args = {"heard": str(tmp_path / "heard")}

    def work() -> None:
        items = [{"n": 1}, {"n": 2}][:workers]
        found.extend(fan_out(items, Reader, args, replace(ACTORS, workers=workers), name="test"))

    driver = Thread(target=work)
    driver.start()
    deadline = time.monotonic() + 240
    try:
        while sentences_under_way() < 10:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        (tmp_path / "heard").touch()
        driver.join()
    assert [row["n"] for row in sorted(found, key=lambda row: row["n"])] == [1, 2][:workers]
    assert sentences_under_way() == 0


@pytest.mark.slow
def test_reading_apart_from_the_work(shared_ray: None) -> None:
    items = [{"n": n} for n in range(4)]
    found = list(fan_out(items, Square, {}, replace(ACTORS, prepare=tripled), name="test"))
    assert {f["n"]: f["prepared"] for f in found} == {0: 0, 1: 3, 2: 6, 3: 9}


@pytest.mark.parametrize(("items", "workers"), [(0, 1), (1, 1), (9, 2), (36, 2), (36, 36), (820, 64)])
def test_tasks_share_all_items_in_order_and_the_last_are_single(items: int, workers: int) -> None:
    named = [(str(n), {"n": n}) for n in range(items)]
    tasks = share_out(named, workers)
    assert [item for task in tasks for item in task] == named
    sizes = [len(task) for task in tasks]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes, default=0) <= 4
    assert sizes[-workers:] == [1] * min(workers, items)


@pytest.mark.parametrize("prepare", [None, tripled])
def test_work_on_gpus_is_planned_with_and_without_reading_ahead(
    shared_ray: None, prepare: Callable[[dict[str, Any]], int] | None
) -> None:
    from ray.data import ActorPoolStrategy

    from jobs.engine.stream import planned

    # Ray Data has rules of its own for these, which it tells when it is given the plan.
    items = [("a", {"n": 1}), ("b", {"n": 2})]
    planned(items, Square, {}, ActorPoolStrategy(min_size=1, max_size=2), {"num_gpus": 1}, prepare)


def test_tasks_are_done_in_processes_that_stay_and_by_workers_that_do_not(shared_ray: None) -> None:
    def call(refused: int) -> set[int]:
        items = [{"n": n} for n in range(8)]
        found = list(fan_out(items, Square, {"refused": refused}, PAIR, name="test"))
        return {f["pid"] for f in found}

    call(-1)
    began = time.time()
    assert all(psutil.Process(pid).create_time() < began for pid in call(-1))
    with pytest.raises(InputError, match="item 7 is wrong"):
        call(7)


@pytest.mark.parametrize("kind", [InputError, StorageError])
def test_wrong_input_reaches_the_driver_as_such(shared_ray: None, kind: type[InputError]) -> None:
    with pytest.raises(InputError, match="item 2 is wrong") as found:
        list(fan_out([{"n": n} for n in range(4)], Square, {"refused": 2, "kind": kind}, PAIR, name="test"))
    assert found.type is kind


class Mortal:
    """Dies at an item as often as it is told to, counted by files in a folder; raises at another."""

    def __init__(self, folder: str, deaths: int, raises: int = -1) -> None:
        self.folder, self.deaths, self.raises = Path(folder), deaths, raises

    def __call__(self, item: dict[str, Any], prepared: Any) -> dict[str, Any]:
        if item["n"] == 2 and len(list(self.folder.iterdir())) < self.deaths:
            (self.folder / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if item["n"] == self.raises:
            raise ArithmeticError(f"item {item['n']} broke")
        return {"n": item["n"], "prepared": prepared, "pid": os.getpid()}


@pytest.mark.slow
@pytest.mark.parametrize(("actors", "prepare"), [(False, None), (True, None), (True, tripled)])
def test_a_worker_that_dies_is_replaced_and_its_items_are_done_again(
    shared_ray: None, tmp_path: Path, actors: bool, prepare: Callable[[dict[str, Any]], int] | None
) -> None:
    items, args = [{"n": n} for n in range(13)], {"folder": str(tmp_path), "deaths": 2}
    found = list(fan_out(items, Mortal, args, replace(PAIR, prepare=prepare, actors=actors), name="test"))
    assert sorted(f["n"] for f in found) == list(range(13))
    assert [f["prepared"] for f in found] == [3 * f["n"] if prepare else None for f in found]
    dead = {int(path.name) for path in tmp_path.iterdir()}
    assert len(dead) == 2
    assert not dead & {f["pid"] for f in found if f["n"] == 2}


@pytest.mark.slow
@pytest.mark.parametrize("actors", [False, True])
def test_work_that_kills_every_worker_is_given_up(shared_ray: None, tmp_path: Path, actors: bool) -> None:
    args = {"folder": str(tmp_path), "deaths": 9}
    items, named = [{"n": n} for n in range(13)], {"name": "test", "name_item": lambda i: f"item {i['n']}"}
    with pytest.raises(EngineError, match="item 2: its worker's process ended 5 times"):
        list(fan_out(items, Mortal, args, replace(PAIR, actors=actors), **named))
    assert len(list(tmp_path.iterdir())) == 5


class OnBrokenGpu(Mortal):
    """Where `Mortal` dies, raises what torch raises of a GPU."""

    def __call__(self, item: dict[str, Any], prepared: Any) -> dict[str, Any]:
        if item["n"] == 2 and not list(self.folder.iterdir()):
            (self.folder / str(os.getpid())).touch()
            raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
        if item["n"] == self.raises:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return super().__call__(item, prepared)


@pytest.mark.slow
def test_a_gpu_that_fails_is_a_worker_that_dies(shared_ray: None, tmp_path: Path) -> None:
    args = {"folder": str(tmp_path), "deaths": 0}
    found = list(fan_out([{"n": n} for n in range(4)], OnBrokenGpu, args, PAIR, name="test"))
    assert sorted(f["n"] for f in found) == list(range(4))
    dead = {int(path.name) for path in tmp_path.iterdir()}
    assert len(dead) == 1
    assert not dead & {f["pid"] for f in found if f["n"] == 2}


def test_too_little_memory_of_a_gpu_is_told_and_not_tried_again(shared_ray: None, tmp_path: Path) -> None:
    (tmp_path / "0").touch()
    args = {"folder": str(tmp_path), "deaths": 0, "raises": 1}
    with pytest.raises(InputError, match=r"--token-budget: a GPU's memory does not hold a batch \(CUDA out of memory"):
        list(fan_out([{"n": n} for n in range(2)], OnBrokenGpu, args, PAIR, name="test"))


def test_what_a_worker_raises_is_raised(shared_ray: None, tmp_path: Path) -> None:
    args = {"folder": str(tmp_path), "deaths": 0, "raises": 1}
    with pytest.raises(ArithmeticError, match="item 1 broke"):
        list(fan_out([{"n": n} for n in range(4)], Mortal, args, PAIR, name="test"))


def test_one_item_is_done_in_this_process() -> None:
    assert [f["pid"] for f in fan_out([{"n": 3}], Square, {}, Spread(workers=4), name="test")] == [os.getpid()]
    assert list(fan_out([], Square, {}, Spread(workers=4), name="test")) == []
    found = list(fan_out([{"n": n} for n in range(3)], Square, {}, Spread(workers=4, here=True), name="test"))
    assert [(f["square"], f["pid"]) for f in found] == [(n * n, os.getpid()) for n in range(3)]


def test_all_work_of_one_worker_is_done_in_this_process_and_by_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    found = list(fan_out([{"n": n} for n in range(3)], Square, {}, Spread(workers=1, prepare=tripled), name="test"))
    assert [(f["square"], f["prepared"], f["pid"]) for f in found] == [(n * n, 3 * n, os.getpid()) for n in range(3)]
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"


def test_a_submitted_job_needs_a_full_path(monkeypatch: pytest.MonkeyPatch) -> None:
    check_out("runs/a")
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    with pytest.raises(InputError, match="full path"):
        check_out("runs/a")
    check_out("/runs/a")
    check_out("s3://bucket/a")


@pytest.fixture
def listening() -> Iterator[str]:
    """The address of a server on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("address", [None, "local", "auto", "{}", "ray://{}"])
def test_a_head_on_this_machine_is_joined_only_where_it_is_named(
    monkeypatch: pytest.MonkeyPatch, listening: str, address: str | None
) -> None:
    import ray

    asked: dict[str, Any] = {}
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: asked.update(options))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if address:
        monkeypatch.setenv("RAY_ADDRESS", address.format(listening))
    connect(1)
    alone = address in (None, "local")
    assert asked.get("address") == ("local" if alone else None)
    assert ("num_cpus" in asked) == alone == stays_here(9, 1)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nonsense", "give its head as host:port"),
        ("10.0.0.1:99999", "give its head as host:port"),
        ("http://127.0.0.1:8265", "give its head as host:port"),
        ("ray://", "give its head as host:port"),
        ("127.0.0.1:1", "refused"),
        ("ray://127.0.0.1:1", "refused"),
        ("a..b:6379", "no cluster can be reached there"),
    ],
)
def test_an_address_where_no_cluster_is_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, address: str, said: str
) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray was asked"))
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(InputError, match=f"RAY_ADDRESS {re.escape(address)}: .*{said}.*unset RAY_ADDRESS"):
        connect(1)


def test_a_host_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = Event()

    def never(*_: Any) -> None:
        given_up.wait()
        raise OSError

    monkeypatch.setattr(socket, "create_connection", never)
    with pytest.raises(InputError, match="no answer in"):
        check_address("10.0.0.1:6379", seconds=0.01)
    given_up.set()


def test_what_ray_says_of_no_cluster_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import ray

    def init(**_: Any) -> None:
        os.write(2, b"raw lines")
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with pytest.raises(InputError, match="RAY_ADDRESS auto: Could not find any running Ray instance"):
        connect(1)
    assert capfd.readouterr().err == ""
