"""How many workers are started on one machine: what was asked for, or as many as have a core and room."""

import pytest

from jobs.engine import connect
from jobs.engine.connect import WORKER_BYTES, available_bytes, pool_size
from tests.conftest import CHOOSE_POOL


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    connect._say_capped.cache_clear()


@pytest.mark.parametrize(
    ("asked", "threads", "room", "started", "said"),
    [
        ("auto", 1, 100, 8, ""),
        ("auto", 3, 100, 2, ""),
        (5, 1, 100, 5, ""),
        (100, 1, 100, 8, "--workers 100: this machine has 8 cores, so 8 are started"),
        (6, 1, 4, 4, "--workers 6: this machine has room for 4 in its memory, so 4 are started"),
        ("auto", 1, 3, 3, "--workers 8: this machine has room for 3 in its memory, so 3 are started"),
        (2, 1, 0, 1, "--workers 2: this machine has room for 1 in its memory, so 1 are started"),
    ],
)
def test_no_more_workers_than_cores_and_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    asked: int | str, threads: int, room: int, started: int, said: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(connect, "available_bytes", lambda: room * WORKER_BYTES + 1)
    assert pool_size(asked, threads) == started  # type: ignore[arg-type]
    assert pool_size(asked, threads) == started  # type: ignore[arg-type]
    assert capsys.readouterr().err.strip() == said


def test_a_cluster_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert pool_size("auto") is None
    assert pool_size(500) == 500


def test_the_memory_of_this_machine_is_read() -> None:
    assert 1 << 24 < available_bytes() <= 1 << 60


def test_gpus_that_are_asked_for_by_number_are_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    growing, fixed = (CHOOSE_POOL(8, True, 2, at_once) for at_once in (False, True))
    assert (growing.min_size, growing.max_size) == (1, 8)
    assert (fixed.min_size, fixed.max_size) == (8, 8)
