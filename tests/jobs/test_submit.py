"""A job that is submitted to a Ray head of its own, as a user submits it: status, log and tables."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT

# Ray reads its settings when it is imported, so the client is a process of its own.
CLIENT = """
import json, sys, time
from ray.job_submission import JobStatus, JobSubmissionClient
address, working_dir, *entrypoints = sys.argv[1:]
deadline = time.monotonic() + 180
def patiently(ask):
    # The head is up before its agents are.
    while True:
        try:
            return ask()
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
client = patiently(lambda: JobSubmissionClient(address))
environment = {"working_dir": working_dir, "excludes": [".git", ".venv", "runs", "tests", "docs"]}
found = []
for entrypoint in entrypoints:
    job = patiently(lambda: client.submit_job(entrypoint=entrypoint, runtime_env=environment))
    while client.get_job_status(job) in (JobStatus.PENDING, JobStatus.RUNNING):
        time.sleep(0.5)
    found.append([str(client.get_job_status(job).value), client.get_job_logs(job)])
print(json.dumps(found))
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def head(tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a head that `ray start --head` keeps up, and the settings that its token needs."""
    (tmp_path / "token").write_text("0123456789abcdef" * 4)
    given = {n: v for n, v in os.environ.items() if n != "RAY_ADDRESS"}
    env = {**given, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    # Unix sockets lie in it, whose paths may hold 107 characters.
    short = tempfile.mkdtemp(prefix="atlas-")
    # Another Ray of this machine may hold the ports that Ray takes by itself.
    own = (
        "port",
        "dashboard-port",
        "dashboard-agent-listen-port",
        "dashboard-agent-grpc-port",
        "ray-client-server-port",
    )
    ports = {name: free_port() for name in own}
    dashboard = ports["dashboard-port"]
    flags = [*(f"--{name}={number}" for name, number in ports.items()), "--num-cpus=2", "--disable-usage-stats"]
    with (tmp_path / "head.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", *flags, f"--temp-dir={short}"],
            cwd=tmp_path, env=env, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{dashboard}", env
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        subprocess.run(["pkill", "-9", "-f", short], check=False)
        shutil.rmtree(short, ignore_errors=True)


def test_a_submitted_job(
    head: tuple[str, dict[str, str]],
    source: Path,
    tmp_path: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> None:
    out = tmp_path / "out"
    job = f"{sys.executable} -m jobs.topk --corpus {source} --split none --k 20 --shard-size 100"
    job += f" --model {make_model(small_bert)}"
    client = subprocess.run(
        [sys.executable, "-c", CLIENT, head[0], str(ROOT), f"{job} --out runs/x", f"{job} --out {out}"],
        env=head[1], capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert client.returncode == 0, client.stdout + client.stderr + (tmp_path / "head.log").read_text()
    (refused, why), (status, log) = json.loads(client.stdout.splitlines()[-1])
    assert refused == "FAILED"
    assert "error: --out runs/x: is relative" in why
    assert status == "SUCCEEDED", log
    assert "topk: 4 of 4 shards" in log
    counts = json.loads((out / "run.json").read_text())["stages"]["topk"]["counts"]
    assert counts["scored"] == pq.read_table(out / "corpus").num_rows > 300
    assert pq.read_table(out / "topk").num_rows == 24 * 2 * 20
