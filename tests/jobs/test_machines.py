"""Whoever waits for a machine of a cluster sees for what, and for how long."""

import json
import re
import time
from pathlib import Path

import pytest

from jobs.engine.machines import MachineWait, Resources, configured_kinds

HEAD: Resources = {"memory": 1e9, "node:__internal_head__": 1.0}
CPUS: Resources = {"CPU": 8.0, "memory": 1e9}
GPU: Resources = {"CPU": 16.0, "GPU": 1.0}
ONE_EACH: list[Resources] = [{"GPU": 1}, {"CPU": 1}]


@pytest.mark.parametrize(
    ("wanted", "up", "said"),
    [
        (ONE_EACH, [HEAD], "topk: waits for a machine with 1 GPU and for one with 1 CPU; none is up (0 s)"),
        (ONE_EACH, [HEAD, CPUS], "topk: waits for a machine with 1 GPU; none is up (0 s)"),
        (ONE_EACH, [HEAD, GPU], None),
        ([{"CPU": 4}], [{"CPU": 2.0}, {"CPU": 2.0}], "topk: waits for a machine with 4 CPUs; none is up (0 s)"),
        ([{"CPU": 2}], [{"CPU": 2.0}, {"CPU": 2.0}], None),
    ],
)
def test_what_is_waited_for(wanted: list[Resources], up: list[Resources], said: str | None) -> None:
    assert MachineWait("topk", wanted, lambda: up).line(5.0) == said


def test_for_how_long_it_waits() -> None:
    up = [HEAD]
    wait = MachineWait("topk", [{"GPU": 1}], lambda: up)
    assert str(wait.line(1000.0)).endswith("(0 s)")
    assert str(wait.line(1060.0)).endswith("(60 s)")
    assert str(wait.line(1120.0)).endswith("(2 min)")
    up.append(GPU)
    assert wait.line(1180.0) is None
    # The machine goes again: it is another wait.
    up.remove(GPU)
    assert str(wait.line(1240.0)).endswith("(0 s)")
    assert str(wait.line(1300.0)).endswith("(60 s)")


def test_it_is_said_until_it_ends(capfd: pytest.CaptureFixture[str]) -> None:
    answers = iter([ConnectionError("no head"), [HEAD], [HEAD]])
    asked = []

    def up() -> list[Resources]:
        asked.append(1)
        answer = next(answers, [HEAD, GPU])
        if isinstance(answer, Exception):
            raise answer
        return answer

    with MachineWait("topk", [{"GPU": 1}], up, first=0.01, every=0.01):
        deadline = time.monotonic() + 60
        while len(asked) < 5:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(r"topk: waits for a machine with 1 GPU; none is up \(\d+ s\)", line) for line in lines)


CONFIG = {
    "head_node_type": "head",
    "available_node_types": {
        "head": {"resources": {"CPU": 0, "GPU": 1}},
        "cpu": {"resources": {"CPU": 32}},
        "gpu": {"resources": {"CPU": 12, "GPU": 1}},
    },
}


@pytest.mark.parametrize(
    ("text", "address", "found"),
    [
        (json.dumps(CONFIG), "10.0.0.1:6379", ["cpu", "gpu"]),
        (json.dumps(CONFIG), "localhost:6379", ["cpu", "gpu"]),
        (json.dumps(CONFIG), "10.0.0.1:16379", []),  # another cluster's
        (json.dumps({**CONFIG, "available_node_types": {}}), "10.0.0.1:6379", []),
        ("available_node_types: [gpu", "10.0.0.1:6379", []),
        (None, "10.0.0.1:6379", []),
    ],
)
def test_which_machines_may_come(tmp_path: Path, text: str | None, address: str, found: list[str]) -> None:
    config = tmp_path / "ray_bootstrap_config.yaml"
    if text is not None:
        config.write_text(text)
    of_monitor = ["python", "monitor.py", "--gcs-address=10.0.0.1:6379", f"--autoscaling-config={config}"]
    assert list(configured_kinds(address, [["init"], of_monitor, []])) == found
