"""Workers of two parts: the last part of an item runs at the same time as the first part of the next item."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from jobs.engine import actor
from jobs.engine.actor import ATTEMPTS, AttemptCounter, ItemWorker
from jobs.engine.fan_out import Spread, fan_out
from jobs.engine.item import EngineError, Item, works_in_two_parts
from jobs.engine.stream import set_context
from ops.errors import DiskFullError, InputError
from tests.conftest import CHOOSE_POOL

SOON = 20.0  # seconds after which a test has failed

ACTORS = Spread(workers=2, holds={"cpus": 0.5}, actors=True)


class LocalCounter(AttemptCounter):
    """The counter of attempts without its process."""

    class Method:
        def __init__(self, method: Callable[..., Any]) -> None:
            self.remote = method

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return LocalCounter.Method(found) if name in ("begin", "end") else found


class TwoParts:
    """Do what `parts` says for each item, and note what ran at the same time."""

    parts: ClassVar[dict[tuple[int, str], Callable[[], None]]] = {}
    under_way: ClassVar[set[tuple[int, str]]] = set()
    together: ClassVar[list[set[tuple[int, str]]]] = []
    lock: ClassVar[Any] = Lock()

    def begin(self, item: Item, prepared: Any) -> Callable[[], Item]:
        self._do(item["n"], "first")

        def finish() -> Item:
            self._do(item["n"], "last")
            return {"n": item["n"]}

        return finish

    def __call__(self, item: Item, prepared: Any) -> Item:
        return self.begin(item, prepared)()

    @contextmanager
    def _noted(self, n: int, part: str) -> Iterator[None]:
        with self.lock:
            self.under_way.add((n, part))
            self.together.append(set(self.under_way))
        yield
        with self.lock:
            self.under_way.remove((n, part))

    def _do(self, n: int, part: str) -> None:
        with self._noted(n, part):
            self.parts.get((n, part), lambda: None)()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> ItemWorker:
    monkeypatch.setattr(actor.ray, "get", lambda found, timeout: found)
    monkeypatch.setattr(TwoParts, "parts", {})
    monkeypatch.setattr(TwoParts, "under_way", set())
    monkeypatch.setattr(TwoParts, "together", [])
    return ItemWorker(TwoParts, {}, LocalCounter(), "call")


@pytest.fixture
def calls(worker: ItemWorker) -> Iterator[Callable[[int], "Future[list[Item]]"]]:
    """Call the worker with an item, from another thread, as an actor of two calls does."""

    def call(n: int) -> list[Item]:
        batch = pa.table({"name": [str(n)], "item": [json.dumps({"n": n})], "prepared": pa.array([None], pa.binary())})
        return [json.loads(row) for found in worker(batch) for row in found["row"].to_pylist()]

    with ThreadPoolExecutor(2) as threads:
        yield lambda n: threads.submit(call, n)


def test_the_next_item_is_begun_while_the_last_part_of_one_is_done(calls: Any) -> None:
    last_of_one, first_of_two = Event(), Event()

    def commit() -> None:
        last_of_one.set()
        assert first_of_two.wait(SOON)

    TwoParts.parts = {(1, "last"): commit, (2, "first"): first_of_two.set}
    one = calls(1)
    assert last_of_one.wait(SOON)
    two = calls(2)
    assert (one.result(SOON), two.result(SOON)) == ([{"n": 1}], [{"n": 2}])
    assert {(1, "last"), (2, "first")} in TwoParts.together


def test_no_two_first_parts_nor_last_ones_are_done_at_a_time(calls: Any) -> None:
    found = [calls(n) for n in range(40)]
    assert [one.result(SOON) for one in found] == [[{"n": n}] for n in range(40)]
    assert all(len({part for _, part in some}) == len(some) for some in TwoParts.together)


@pytest.mark.parametrize("part", ["first", "last"])
@pytest.mark.parametrize(
    ("error", "row"),
    [(InputError("wrong"), {"input_error": "wrong"}), (DiskFullError("no room"), {"disk_full": "no room"})],
)
def test_what_is_wrong_in_either_part_is_told_and_the_next_item_is_done(
    calls: Any, part: str, error: Exception, row: Item
) -> None:
    def fail() -> None:
        raise error

    TwoParts.parts = {(1, part): fail}
    found = [calls(n) for n in (1, 2, 3)]
    assert [one.result(SOON) for one in found] == [[row], [{"n": 2}], [{"n": 3}]]


@pytest.mark.parametrize("part", ["first", "last"])
def test_what_either_part_raises_is_raised(calls: Any, part: str) -> None:
    def fail() -> None:
        raise ArithmeticError("broke")

    TwoParts.parts = {(1, part): fail}
    one, two = calls(1), calls(2)
    with pytest.raises(ArithmeticError, match="broke"):
        one.result(SOON)
    assert two.result(SOON) == [{"n": 2}]


def test_an_item_that_was_begun_before_has_the_process_to_itself(worker: ItemWorker, calls: Any) -> None:
    worker.attempts.begin.remote("call: 2", True)
    last_of_one, go_on, first_of_two = Event(), Event(), Event()

    def commit() -> None:
        last_of_one.set()
        assert go_on.wait(SOON)

    TwoParts.parts = {(1, "last"): commit, (2, "first"): first_of_two.set}
    one = calls(1)
    assert last_of_one.wait(SOON)
    two = calls(2)
    assert not first_of_two.wait(0.2)
    go_on.set()
    three = calls(3)
    assert [found.result(SOON) for found in (one, two, three)] == [[{"n": 1}], [{"n": 2}], [{"n": 3}]]
    assert [some for some in TwoParts.together if any(n == 2 for n, _ in some)] == [{(2, "first")}, {(2, "last")}]
    assert worker.attempts.begun == {"call: 1": 0, "call: 2": 1, "call: 3": 0}


def test_an_item_that_was_begun_too_often_is_given_up_and_what_waited_beside_it_is_not(
    worker: ItemWorker, calls: Any
) -> None:
    for _ in range(ATTEMPTS):
        worker.attempts.begin.remote("call: 1", True)
        # It waited for its turn in the process that ended.
        worker.attempts.begin.remote("call: 2", False)
    assert calls(1).result(SOON) == [{"given_up": "1"}]
    assert calls(2).result(SOON) == [{"n": 2}]


class Mortal:
    """End the process in one part of an item, and note it in a folder; the other parts run concurrently."""

    def __init__(self, folder: str, part: str, deaths: int) -> None:
        self.folder, self.part, self.deaths = Path(folder), part, deaths

    def begin(self, item: Item, prepared: Any) -> Callable[[], Item]:
        self._die(item, "first")

        def finish() -> Item:
            self._die(item, "last")
            return {"n": item["n"], "pid": os.getpid()}

        return finish

    def __call__(self, item: Item, prepared: Any) -> Item:
        return self.begin(item, prepared)()

    def _die(self, item: Item, part: str) -> None:
        if item["n"] == 2 and part == self.part and len(list(self.folder.iterdir())) < self.deaths:
            (self.folder / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)


class OnePart:
    """Does an item's work at once."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        return item


@pytest.mark.slow
@pytest.mark.usefixtures("actors")
@pytest.mark.parametrize("part", ["first", "last"])
def test_items_of_an_actor_that_dies_are_done_again(shared_ray: None, tmp_path: Path, part: str) -> None:
    args = {"folder": str(tmp_path), "part": part, "deaths": 2}
    found = list(fan_out([{"n": n} for n in range(13)], Mortal, args, ACTORS, name="test"))
    assert sorted(row["n"] for row in found) == list(range(13))
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("actors")
@pytest.mark.parametrize("part", ["first", "last"])
def test_an_item_that_ends_every_actor_is_named_and_no_other(shared_ray: None, tmp_path: Path, part: str) -> None:
    args, named = {"folder": str(tmp_path), "part": part, "deaths": 99}, {"name_item": lambda item: f"item {item['n']}"}
    with pytest.raises(EngineError, match="item 2: its worker's process ended 5 times"):
        list(fan_out([{"n": n} for n in range(13)], Mortal, args, ACTORS, name="test", **named))
    assert len(list(tmp_path.iterdir())) == ATTEMPTS


def test_actors_take_two_calls_and_pools_grow_as_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.data import DataContext

    assert works_in_two_parts(Mortal)
    assert not works_in_two_parts(OnePart)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    context, grows = DataContext(), []
    for calls in (1, 2):
        pool = CHOOSE_POOL(8, True, 3, calls=calls)
        assert (pool.max_concurrent_calls_per_actor or 1, pool.enable_true_multi_threading) == (calls, calls > 1)
        set_context(context, calls)
        most = pool.max_tasks_in_flight_per_actor / calls
        config = context.autoscaling_config
        grows.append(
            (most / config.actor_pool_util_upscaling_threshold, most / config.actor_pool_util_downscaling_threshold)
        )
    assert grows[0] == grows[1]
