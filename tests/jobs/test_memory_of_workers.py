"""A worker that takes more memory than a core's share of it: fewer on one machine, more cores for each on a cluster."""

from typing import Any

import pytest

from jobs.engine import fan_out as engine
from jobs.engine.fan_out import Spread, fan_out
from jobs.engine.item import Item
from jobs.engine.machines import Resources, cores_for

GB = 1 << 30
LARGE: Resources = {"CPU": 32.0, "memory": 48.0 * GB}
SMALL: Resources = {"CPU": 4.0, "memory": 8.0 * GB}


class Echo:
    """Returns its item."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        return item


@pytest.mark.parametrize(
    ("memory", "machines", "cores"),
    [
        (GB, [LARGE], 1),
        (3 * GB, [LARGE], 2),
        (3 * GB, [LARGE, SMALL], 2),
        (7 * GB, [LARGE, SMALL], 5),
        (100 * GB, [SMALL], 4),  # all of a machine's: more would be waited for in vain
        (3 * GB, [{"CPU": 0.0, "memory": 9.0}, {"GPU": 1.0}, {"CPU": 8.0}], 1),  # nothing is known
    ],
)
def test_cores_by_memory(memory: int, machines: list[Resources], cores: int) -> None:
    assert cores_for(memory, machines) == cores


@pytest.fixture
def holds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the workers hold, and how many there are, that would be started."""
    found: list[Any] = []
    monkeypatch.setattr(engine, "connect", lambda cpus: None)
    monkeypatch.setattr(engine, "available_bytes", lambda: 8 * GB)
    monkeypatch.setattr(engine, "machines_up", lambda: [SMALL])
    monkeypatch.setattr(engine, "kinds_to_come", lambda: {"cpu": LARGE})
    monkeypatch.setattr(engine, "choose_pool", lambda most, *given, **named: found.append(most))
    monkeypatch.setattr("jobs.engine.stream.planned", lambda *given: found.append(given[4]))
    monkeypatch.setattr("jobs.engine.stream.stream", lambda *given: iter(()))
    return found


def test_on_a_cluster_a_worker_holds_the_cores_whose_memory_it_needs(
    monkeypatch: pytest.MonkeyPatch, holds: list[Any]
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert list(fan_out([{}] * 40, Echo, {}, Spread(memory=5 * GB), name="test")) == []
    assert holds == [40, {"num_cpus": 4}]


def test_on_one_machine_a_worker_of_many_threads_is_placed_whatever_ray_has(
    monkeypatch: pytest.MonkeyPatch, holds: list[Any]
) -> None:
    """Ray keeps the cores with which an earlier step of the command started it."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    list(fan_out([{}] * 40, Echo, {}, Spread(workers=2, actors=True, holds={"cpus": 4}), name="test"))
    assert holds == [2, {"num_cpus": 1}]
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    list(fan_out([{}] * 40, Echo, {}, Spread(workers=2, actors=True, holds={"cpus": 4}), name="test"))
    assert holds[2:] == [2, {"num_cpus": 4}]


def test_on_one_machine_no_more_are_started_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, holds: list[Any]
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    list(fan_out([{}] * 40, Echo, {}, Spread(workers=16, memory=2 * GB), name="test"))
    assert holds == [4, {"num_cpus": 1}]
    # Too little for any: one, in this process.
    assert list(fan_out([{"n": 1}] * 3, Echo, {}, Spread(workers=16, memory=9 * GB), name="test")) == [{"n": 1}] * 3
