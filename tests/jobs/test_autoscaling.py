"""A cluster that begins with no machine but its head: the pass asks for machines, takes what comes, outlives a loss.

The machines are processes of this one (Ray's `fake_multinode` provider), their GPUs numbers that Ray counts: so torch
computes on the CPU, and everything but that choice is as the jobs make it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT
from tests.jobs.ports import free_ports
from tests.jobs.processes import end_all

SHARDS, SIZE = 12, 30
MACHINES = {
    "ray.head.default": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
    "cpu": {"resources": {"CPU": 2}, "node_config": {}, "min_workers": 0, "max_workers": 1},
    "gpu": {"resources": {"CPU": 1, "GPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": 2},
}

# The driver: a worker holds a GPU of its node and computes on the CPU.
DRIVER = """
import sys
from jobs.stage import corpus_pass
from jobs.stage.placement import Placement
from jobs.topk.job import JOB
corpus_pass.choose_placement = lambda config: Placement("cpu", 2048, 1, None, {"gpus": 1})
sys.exit(JOB.main())
"""

# As a sitecustomize.py on every node: a shard's commit is written down with the node's process (a worker is started by
# its node's raylet), and a node that has one takes long over the next, until the test lets it go on.
SITE = """
import os, time
_replace = os.replace
def replace(source, target, **options):
    if "_partials/topk/shard-" in str(target):
        node, log = os.getppid(), os.environ["TEST_COMMITS"]
        def seen():
            with open(log, "a+") as file:
                file.seek(0)
                return {int(line.split()[0]) for line in file}
        while node in seen() and not os.path.exists(os.environ["TEST_GO_ON"]):
            time.sleep(0.05)
        _replace(source, target, **options)
        with open(log, "a") as file:
            file.write(f"{node} {os.path.basename(target)}\\n")
        return
    _replace(source, target, **options)
os.replace = replace
"""


def cluster_file(folder: Path, port: int) -> Path:
    """A whole configuration of Ray's autoscaler, for machines that are processes here."""
    provider = {"type": "fake_multinode", "fake_cluster": True, "gcs_address": f"127.0.0.1:{port}"}
    # With node updaters the autoscaler dies over the first node.
    provider |= {"disable_node_updaters": True, "disable_launch_config_check": True}
    lists = ("initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands")
    lists += ("head_start_ray_commands", "worker_start_ray_commands")
    lists += ("cluster_synced_files", "rsync_exclude", "rsync_filter")
    whole: dict[str, object] = {
        "cluster_name": "fake",
        "max_workers": 3,
        "idle_timeout_minutes": 5,
        "upscaling_speed": 1.0,
        "provider": provider,
        "auth": {"ssh_user": "nobody"},
        "docker": {},
        "file_mounts": {},
        "file_mounts_sync_continuously": False,
        "available_node_types": MACHINES,
        "head_node_type": "ray.head.default",
        **{name: [] for name in lists},
    }
    path = folder / "cluster.json"
    path.write_text(json.dumps(whole))
    return path


def processes(folder: str) -> list[int]:
    """The processes whose command line names the cluster's folder, and all that they started."""
    import ray  # noqa: F401

    psutil = import_module("psutil")  # Ray brings it along, and within reach.
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(folder in word for word in process.cmdline()):
                found |= {process.pid} | {child.pid for child in process.children(recursive=True)}
    return sorted(found - {os.getpid()})


@pytest.fixture
def head(tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A head without work of its own, and nothing else up: its folder, and the environment of who works with it."""
    port, client = free_ports(2)
    # Unix sockets lie in it, whose paths may hold 107 characters.
    short = tempfile.mkdtemp(prefix="atlas-")
    (tmp_path / "sitecustomize.py").write_text(SITE)
    given = {n: v for n, v in os.environ.items() if not n.startswith("RAY_")}
    env = {**given, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "RAY_AUTH_MODE": "disabled"}
    env |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1"}
    env |= {"TEST_COMMITS": str(tmp_path / "commits"), "TEST_GO_ON": str(tmp_path / "go-on")}
    flags = [f"--port={port}", f"--temp-dir={short}", f"--autoscaling-config={cluster_file(tmp_path, port)}"]
    flags += [f"--ray-client-server-port={client}", "--num-cpus=0", "--num-gpus=0", "--include-dashboard=false"]
    ray = str(Path(sys.executable).parent / "ray")
    try:
        started = subprocess.run(
            [ray, "start", "--head", *flags], env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert started.returncode == 0, started.stdout + started.stderr
        yield short, {**env, "RAY_ADDRESS": f"127.0.0.1:{port}"}
    finally:
        end_all(lambda: processes(short))
        shutil.rmtree(short, ignore_errors=True)


def machines(folder: str) -> list[str]:
    """What the cluster's machines have, by the command lines of their node processes: `CPU,2`, `CPU,1,GPU,1`."""
    import ray  # noqa: F401

    psutil = import_module("psutil")
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            words = process.cmdline()
            if words and words[0].endswith("/raylet") and any(folder in word for word in words):
                [has] = [word for word in words if word.startswith("--static_resource_list=")]
                found.append(",".join(re.findall(r"[CG]PU,\d+", has)))
    return sorted(found)


def by_node(commits: Path) -> dict[int, list[str]]:
    """The shards that each node committed, the nodes in the order of their first ones."""
    found: dict[int, list[str]] = {}
    for line in commits.read_text().splitlines() if commits.exists() else ():
        node, shard = line.split()
        found.setdefault(int(node), []).append(shard)
    return found


@pytest.mark.faults
def test_from_no_machine_up_to_two_of_which_one_is_lost(
    head: tuple[str, dict[str, str]],
    tmp_path: Path,
    source: Path,
    command: Callable[..., subprocess.CompletedProcess[str]],
    make_model: Callable[..., Path],
    small_bert: object,
) -> None:
    folder, env = head
    out, alone, log = tmp_path / "out", tmp_path / "alone", tmp_path / "log"
    model = ["--model", str(make_model(small_bert))]
    done = command("ingest", "--out", out, "--corpus", source, "--split", "none", "--shard-size", SIZE, *model)
    assert done.returncode == 0, done.stderr
    shutil.copytree(out, alone)
    sizes = [*model, "--k", "25", "--activation-sample", "40"]
    done = command("topk", "--out", alone, "--workers", 1, *sizes, timeout=300)
    assert done.returncode == 0, done.stderr

    assert machines(folder) == [""]  # the head, which has no cores for work
    (tmp_path / "driver.py").write_text(DRIVER)
    with log.open("wb") as stream:
        job = subprocess.Popen(
            [sys.executable, str(tmp_path / "driver.py"), "--out", str(out), *sizes],
            cwd=ROOT, env=env, stdout=stream, stderr=stream, start_new_session=True,
        )  # fmt: skip
    try:
        commits = Path(env["TEST_COMMITS"])
        deadline = time.monotonic() + 400
        while len(by_node(commits)) < 2:
            assert job.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        up = machines(folder)
        assert up.count("CPU,1,GPU,1") == 2
        assert "CPU,2" in up, "shards were not read on machines without a GPU"
        os.kill(next(iter(by_node(commits))), signal.SIGKILL)
        assert len(machines(folder)) < len(up)
        assert sum(map(len, by_node(commits).values())) < SHARDS - 2, "the node went too late to show anything"
        Path(env["TEST_GO_ON"]).touch()
        assert job.wait(timeout=400) == 0, log.read_text()
    finally:
        job.kill()
    assert f"topk: {SHARDS} of {SHARDS} shards" in log.read_text()
    for table in ("topk", "neurons", "activations", "unscored"):
        assert pq.read_table(out / table).equals(pq.read_table(alone / table)), table
