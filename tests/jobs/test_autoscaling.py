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
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT
from tests.jobs.ports import free_ports
from tests.jobs.processes import end_all

SHARDS, SIZE = 12, 30
GPUS = 2  # machines with one, at the most

# The driver: a worker holds a GPU of its node and computes on the CPU. It waits until none holds one any more.
DRIVER = """
import sys, time
from jobs.stage import corpus_pass
from jobs.stage.placement import Placement
from jobs.topk.job import JOB
corpus_pass.choose_placement = lambda config, *_: Placement("cpu", 2048, 1, config.gpus, {"gpus": 1})
status = JOB.main()
import ray
deadline = time.monotonic() + 60
while ray.available_resources().get("GPU", 0) < ray.cluster_resources()["GPU"] and time.monotonic() < deadline:
    time.sleep(0.1)
print("GPUs free:", ray.available_resources().get("GPU", 0), file=sys.stderr)
sys.exit(status)
"""

# As a sitecustomize.py on every node: a shard's commit is written down with the node's process (a worker is started by
# its node's raylet), and a node that has one takes long over the next, until the test releases it. So does the pilot.
SITE = """
import os, time
_replace = os.replace
def replace(source, target, **options):
    while "_partials/topk/pilot" in str(target) and not os.path.exists(os.environ["TEST_PILOT"]):
        time.sleep(0.05)
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


def cluster_file(folder: Path, port: int, gpus: int) -> Path:
    """Write a complete configuration of Ray's autoscaler: machines are processes here, `gpus` of them with a GPU."""
    provider = {"type": "fake_multinode", "fake_cluster": True, "gcs_address": f"127.0.0.1:{port}"}
    # Otherwise one machine comes, however many are asked for in one go.
    provider |= {"launch_multiple": True}
    # With node updaters the autoscaler dies over the first node.
    provider |= {"disable_node_updaters": True, "disable_launch_config_check": True}
    lists = ("initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands")
    lists += ("head_start_ray_commands", "worker_start_ray_commands")
    lists += ("cluster_synced_files", "rsync_exclude", "rsync_filter")
    whole: dict[str, object] = {
        "cluster_name": "fake",
        "max_workers": gpus + 1,
        "idle_timeout_minutes": 5,
        "upscaling_speed": 1.0,
        "provider": provider,
        "auth": {"ssh_user": "nobody"},
        "docker": {},
        "file_mounts": {},
        "file_mounts_sync_continuously": False,
        "available_node_types": {
            "ray.head.default": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
            "cpu": {"resources": {"CPU": 2}, "node_config": {}, "min_workers": 0, "max_workers": 1},
            "gpu": {"resources": {"CPU": 1, "GPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": gpus},
        },
        "head_node_type": "ray.head.default",
        **{name: [] for name in lists},
    }
    path = folder / "cluster.json"
    path.write_text(json.dumps(whole))
    return path


def processes(folder: str) -> list[int]:
    """The processes whose command line names the cluster's folder, and all that they started."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(folder in word for word in process.cmdline()):
                found |= {process.pid} | {child.pid for child in process.children(recursive=True)}
    return sorted(found - {os.getpid()})


@pytest.fixture
def head(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, str]]]:
    """A head without work of its own, and nothing else up: its folder, and the environment of who works with it."""
    port, client = free_ports(2)
    config = cluster_file(tmp_path, port, getattr(request, "param", GPUS))
    # It holds Unix sockets, whose paths may have at most 107 characters.
    short = tempfile.mkdtemp(prefix="atlas-")
    (tmp_path / "sitecustomize.py").write_text(SITE)
    given = {n: v for n, v in os.environ.items() if not n.startswith("RAY_")}
    env = {**given, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "RAY_AUTH_MODE": "disabled"}
    env |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1"}
    env |= {"TEST_COMMITS": str(tmp_path / "commits"), "TEST_GO_ON": str(tmp_path / "go-on")}
    env |= {"TEST_PILOT": str(tmp_path / "pilot-may-end")}
    flags = [f"--port={port}", f"--temp-dir={short}", f"--autoscaling-config={config}"]
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


def launches(folder: str) -> list[int]:
    """Return how many machines with a GPU the autoscaler started at a time."""
    # Do not use session_latest: each machine replaces this link.
    [log] = Path(folder).glob("session_2*/logs/monitor.log")
    return list(map(int, re.findall(r"Launching (\d+) nodes, type gpu\.", log.read_text())))


@dataclass
class Runs:
    """A corpus on a cluster, and the same one whose pass was done on this machine alone."""

    out: Path
    alone: Path
    sizes: list[str]

    def same(self) -> None:
        """Compare their tables."""
        for table in ("topk", "neurons", "activations", "unscored"):
            assert pq.read_table(self.out / table).equals(pq.read_table(self.alone / table)), table


@pytest.fixture
def runs(
    tmp_path: Path,
    source: Path,
    command: Callable[..., subprocess.CompletedProcess[str]],
    make_model: Callable[..., Path],
    small_bert: object,
) -> Runs:
    """The two runs, the second done."""
    found = Runs(tmp_path / "out", tmp_path / "alone", ["--model", str(make_model(small_bert))])
    sizes = ["--out", found.out, "--corpus", source, "--split", "none", "--shard-size", SIZE, *found.sizes]
    done = command("ingest", *sizes)
    assert done.returncode == 0, done.stderr
    shutil.copytree(found.out, found.alone)
    found.sizes += ["--k", "25", "--activation-sample", "40"]
    done = command("topk", "--out", found.alone, "--workers", 1, *found.sizes, timeout=300)
    assert done.returncode == 0, done.stderr
    return found


@contextmanager
def driver(
    runs: Runs, env: dict[str, str], tmp_path: Path, *flags: str
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The job on the cluster, and its log."""
    script, log = tmp_path / "driver.py", tmp_path / "log"
    script.write_text(DRIVER)
    with log.open("wb") as stream:
        job = subprocess.Popen(
            [sys.executable, str(script), "--out", str(runs.out), "--device", "cuda", *flags, *runs.sizes],
            cwd=ROOT, env=env, stdout=stream, stderr=stream, start_new_session=True,
        )  # fmt: skip
    try:
        yield job, log
    finally:
        job.kill()


def wait_for(enough: Callable[[], bool], job: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until `enough()` is true while the job runs."""
    deadline = time.monotonic() + 400
    while not enough():
        assert job.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


@pytest.mark.faults
def test_from_no_machine_up_to_two_of_which_one_is_lost(
    head: tuple[str, dict[str, str]], runs: Runs, tmp_path: Path
) -> None:
    folder, env = head
    assert machines(folder) == [""]  # the head, which has no cores for work
    commits = Path(env["TEST_COMMITS"])
    Path(env["TEST_PILOT"]).touch()
    with driver(runs, env, tmp_path) as (job, log):
        wait_for(lambda: len(by_node(commits)) >= 2, job, log)
        up = machines(folder)
        assert up.count("CPU,1,GPU,1") == 2
        assert "CPU,2" in up, "shards were not read on machines without a GPU"
        os.kill(next(iter(by_node(commits))), signal.SIGKILL)
        assert len(machines(folder)) < len(up)
        assert sum(map(len, by_node(commits).values())) < SHARDS - 2, "the node went too late to show anything"
        Path(env["TEST_GO_ON"]).touch()
        assert job.wait(timeout=400) == 0, log.read_text()
    assert f"topk: {SHARDS} of {SHARDS} shards" in log.read_text()
    runs.same()


ASKS = """
import sys
from jobs.engine.machines import on_a_gpu
print("asked:", on_a_gpu(lambda: sys.platform, "topk", others=3))
"""


@pytest.mark.faults
@pytest.mark.parametrize("head", [4], indirect=True)
def test_a_gpu_is_asked_and_the_others_boot_with_it(head: tuple[str, dict[str, str]]) -> None:
    folder, env = head
    found = subprocess.run(
        [sys.executable, "-c", ASKS], cwd=ROOT, env=env, capture_output=True, text=True, timeout=400, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout == f"asked: {sys.platform}\n", found.stdout
    deadline = time.monotonic() + 60
    while not launches(folder) and time.monotonic() < deadline:
        time.sleep(0.5)  # the autoscaler's log may come late
    # The first of three others that is up may be the one that answers.
    assert sum(launches(folder)) in (3, 4)


@pytest.mark.faults
@pytest.mark.parametrize("head", [4], indirect=True)
def test_gpus_asked_for_by_number_boot_together_and_are_given_back(
    head: tuple[str, dict[str, str]], runs: Runs, tmp_path: Path
) -> None:
    folder, env = head
    # Where none is up, but machines with some may come, nobody is guessed to want CPUs.
    asked = subprocess.run(
        [sys.executable, "-m", "jobs.topk", "--out", str(runs.out), *runs.sizes],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert asked.returncode == 2, asked.stderr
    assert re.fullmatch(r".*--device auto: no GPU is up, .* \(gpu\) .*\n", asked.stderr), asked.stderr
    assert launches(folder) == []

    commits = Path(env["TEST_COMMITS"])
    with driver(runs, env, tmp_path, "--gpus", "4") as (job, log):
        # All of them boot while one has the pilot, which has not ended yet.
        wait_for(lambda: sum(launches(folder)) == 4, job, log)
        assert not by_node(commits)
        Path(env["TEST_PILOT"]).touch()
        # A machine that has done a shard now waits for the others.
        wait_for(lambda: len(by_node(commits)) == 4, job, log)
        assert machines(folder).count("CPU,1,GPU,1") == 4
        Path(env["TEST_GO_ON"]).touch()
        assert job.wait(timeout=400) == 0, log.read_text()
    assert sum(launches(folder)) == 4
    assert "GPUs free: 4.0" in log.read_text()
    runs.same()
