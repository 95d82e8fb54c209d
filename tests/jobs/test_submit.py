"""Jobs submitted in a fresh home and a fresh copy of the checkout, by the very lines of README and docs/cluster.md."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pyarrow.parquet as pq
import pytest
from pyarrow.json import read_json

from tests.conftest import ROOT
from tests.jobs.ports import free_ports
from tests.jobs.processes import end_all

pytestmark = pytest.mark.slow

SUBMIT = "ray job submit --address http://127.0.0.1:8265 --working-dir . -- "
MARK = "ATLAS_TEST_HEAD"
ALWAYS = {"RAY_USAGE_STATS_ENABLED": "0", "NUMBA_DISABLE_JIT": "1"}


def blocks(page: str) -> list[str]:
    """The page's blocks of shell lines."""
    return re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def the_block(page: str, *words: str) -> str:
    [found] = [block for block in blocks(page) if all(word in block for word in words)]
    return found


@dataclass
class Shell:
    """A shell of a user who has nothing but a copy of the checkout and its environment.

    Nothing is compiled: a fresh checkout would take longer for that than these few sentences take without.
    """

    home: Path
    checkout: Path
    mark: str

    def __call__(self, lines: str, timeout: float = 500) -> subprocess.CompletedProcess[str]:
        """Run the lines, the first that fails being the last."""
        given = {n: v for n, v in os.environ.items() if not n.startswith(("RAY_", "AWS_", "PYTHON"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-e", "-c", lines],
            cwd=self.checkout,
            env={**given, "HOME": str(self.home), "PATH": path, MARK: self.mark, **ALWAYS},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


def started(mark: str) -> list[int]:
    """The processes that hold the mark in their environment: those that the lines started, and theirs."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                found.append(process.pid)
    return found


@dataclass
class Head:
    """A head that README's lines started."""

    shell: Shell
    port: int
    address: str

    def submit(self, lines: str, entrypoint: str) -> str:
        """The documented lines with this head's address, and another job in the place of theirs."""
        before, _, _ = lines.partition(SUBMIT)
        assert lines.count(SUBMIT) == 1
        return before + SUBMIT.replace("http://127.0.0.1:8265", self.address) + entrypoint

    def get(self, path: str, token: str = "") -> Any:
        """What the dashboard's pages ask for, with the head's token."""
        token = token or (self.shell.home / ".ray/auth_token").read_text()
        with urlopen(Request(self.address + path, headers={"Authorization": f"Bearer {token}"}), timeout=60) as answer:
            return json.load(answer)

    def executions(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        """What the dashboard shows of Ray Data in a job; nothing before the job has begun."""
        return list(self.get(f"/api/data/datasets/{job['job_id']}")["datasets"]) if job["job_id"] else []


@dataclass
class Submitted:
    """A job that was submitted and is done.

    Attributes:
        out: its run directory.
        log: what it printed.
        seen: what the dashboard showed of its executions while it was under way.
    """

    out: Path
    log: str
    seen: list[dict[str, Any]]


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    folder = tmp_path_factory.mktemp("submit")
    home, checkout = folder / "home", folder / "checkout"
    home.mkdir()
    left = shutil.ignore_patterns(".git", ".venv", "runs", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
    shutil.copytree(ROOT, checkout, ignore=left)
    # It holds Unix sockets, whose paths may have at most 107 characters.
    short = tempfile.mkdtemp(prefix="atlas-")
    # Another Ray of this machine may hold the ports that Ray takes by itself.
    own = (
        "port",
        "dashboard-port",
        "dashboard-agent-listen-port",
        "dashboard-agent-grpc-port",
        "ray-client-server-port",
    )
    ports = dict(zip(own, free_ports(len(own)), strict=True))
    flags = " ".join(f"--{name}={number}" for name, number in ports.items())
    lines, _, _ = the_block("README.md", SUBMIT).partition(SUBMIT)
    install, *rest = lines.splitlines()
    assert install.endswith("pip install -c constraints.txt -e '.[cluster]'")  # The tests' environment is given.
    start = "\n".join(rest)
    assert start.count("ray start --head ") == 1
    shell = Shell(home, checkout, mark=short)
    try:
        done = shell(start.replace("ray start --head ", f"ray start --head {flags} --temp-dir={short} --num-cpus=2 "))
        assert done.returncode == 0, done.stdout + done.stderr
        yield Head(shell, ports["port"], f"http://127.0.0.1:{ports['dashboard-port']}")
    finally:
        end_all(lambda: started(short))
        shutil.rmtree(short, ignore_errors=True)


def test_readme_and_docs_say_the_same() -> None:
    told = {
        re.sub(r"\s+", " ", line.partition("  #")[0]).strip()
        for page in blocks("docs/cluster.md")
        for line in page.splitlines()
    }
    for line in the_block("README.md", SUBMIT).splitlines():
        assert re.sub(r"\s+", " ", line.partition("  #")[0]).strip() in told


def test_only_the_user_reads_the_token(head: Head) -> None:
    token = head.shell.home / ".ray/auth_token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert len(token.read_text()) == 64


def test_a_relative_out_is_refused(head: Head) -> None:
    lines = the_block("README.md", SUBMIT).splitlines(keepends=True)
    [mode] = [line for line in lines if line.startswith("export RAY_AUTH_MODE=token ")]
    done = head.shell(head.submit(mode + SUBMIT, "python -m jobs.topk --corpus pydocs --out runs/x"))
    assert done.returncode == 1
    assert "error: --out runs/x: is relative" in done.stdout + done.stderr


@pytest.fixture(scope="module")
def submitted(
    head: Head,
    source: Path,
    tmp_path_factory: pytest.TempPathFactory,
    make_model: Callable[..., Path],
    small_bert: object,
) -> Submitted:
    """README's job, submitted from a laptop and done."""
    folder = tmp_path_factory.mktemp("job")
    out, home = folder / "out", folder / "laptop"
    home.mkdir()
    copy = "scp HEAD:.ray/auth_token ~/.ray/head_token"
    tunnel = "ssh -f -N -L 8265:127.0.0.1:8265 HEAD\n"
    lines = the_block("docs/cluster.md", copy, tunnel)
    # There is one machine here: a second home is the laptop, the head's port its own.
    lines = lines.replace(copy, f"cp -p {head.shell.home}/.ray/auth_token ~/.ray/head_token").replace(tunnel, "")
    pq.write_table(read_json(source), folder / "one.parquet")
    _, _, job = lines.partition(SUBMIT)
    given = {"s3://bucket/run": out, "bert-base-uncased": make_model(small_bert), "s3://bucket/books/": f"{folder}/"}
    given["--device cuda --gpus 8"] = "--device cpu"  # this head has no GPU, and would wait for eight
    for documented, here in given.items():
        assert job.count(documented) == 1
        job = job.replace(documented, str(here))
    # explain begins like the stages before it.
    job = f"{job.strip()} --k 20 --shard-size 100 --no-scores --no-explain"
    laptop, seen = Shell(home, head.shell.checkout, head.shell.mark), []
    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(laptop, head.submit(lines, job), timeout=900)
        while not wait([working], timeout=0.5).done:
            seen += [one for j in head.get("/api/jobs/") if str(out) in j["entrypoint"] for one in head.executions(j)]
    done = working.result()
    assert done.returncode == 0, done.stdout + done.stderr
    return Submitted(out, done.stdout + done.stderr, seen)


def test_a_job_submitted_from_a_laptop(submitted: Submitted) -> None:
    out, log = submitted.out, submitted.log
    stages = json.loads((out / "run.json").read_text())["stages"]
    assert [name for name, stage in stages.items() if stage["complete"]] == [
        "ingest",
        "topk",
        "annotate",
        "mine",
        "tokens",
    ]
    sentences = pq.read_table(out / "corpus").num_rows
    assert stages["topk"]["counts"]["scored"] == sentences > 300
    assert f"topk: 5 of 5 shards, {sentences} sentences, " in log
    assert pq.read_table(out / "topk").num_rows == 24 * 2 * 20
    assert pq.read_table(out / "patterns").num_rows > 0


def test_the_dashboard_shows_its_steps_while_they_run(submitted: Submitted) -> None:
    running = {one["dataset"].partition("_")[0] for one in submitted.seen if one["state"] == "RUNNING"}
    assert running >= {"ingest", "topk", "annotate", "mine: patterns", "mine: tables", "tokens: read"}


def test_the_dashboard_shows_its_sentences(head: Head, submitted: Submitted) -> None:
    out = submitted.out
    [job] = [job for job in head.get("/api/jobs/") if str(out) in job["entrypoint"]]
    assert job["status"] == "SUCCEEDED"
    [scoring] = [one for one in head.executions(job) if "topk" in one["dataset"] and one["total"] == 5]
    assert scoring["state"] == "FINISHED"
    assert scoring["progress"] == 5
    assert scoring["total_rows"] == pq.read_table(out / "corpus").num_rows


def test_the_dashboard_asks_for_the_token(head: Head) -> None:
    head.get("/api/jobs/")
    with pytest.raises(HTTPError, match="403"):
        head.get("/api/jobs/", token="0" * 64)


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("", "Missing authentication token"),
        ("export HOME=/nonexistent RAY_AUTH_MODE=token\n", "couldn't find an authentication token"),
        (f"export RAY_AUTH_MODE=token RAY_AUTH_TOKEN={'0' * 64}\n", "Invalid authentication token"),
    ],
    ids=["no mode", "no token", "wrong token"],
)
def test_a_submission_without_the_token_is_refused(head: Head, tmp_path: Path, before: str, why: str) -> None:
    proof = tmp_path / "ran"
    done = head.shell(head.submit(before + SUBMIT, f"touch {proof}"))
    assert done.returncode == 1
    assert why in done.stdout + done.stderr
    assert not proof.exists()


def test_another_machine_joins_with_the_token(head: Head, tmp_path: Path) -> None:
    copy = "scp HEAD:.ray/auth_token ~/.ray/auth_token"
    lines = the_block("docs/cluster.md", copy)
    assert lines.count("HEAD:6379") == 1
    own = " ".join(
        f"--dashboard-agent-{kind}-port={port}" for kind, port in zip(("listen", "grpc"), free_ports(2), strict=True)
    )
    lines = lines.replace("HEAD:6379", f"127.0.0.1:{head.port} {own} --num-cpus=1")
    another = Shell(tmp_path, head.shell.checkout, head.shell.mark)
    refused = another("".join(line for line in lines.splitlines(keepends=True) if line.startswith("ray ")))
    assert refused.returncode == 1
    assert "Authentication token is missing or incorrect" in refused.stdout + refused.stderr
    joined = another(lines.replace(copy, f"cp -p {head.shell.home}/.ray/auth_token ~/.ray/auth_token"))
    assert joined.returncode == 0, joined.stdout + joined.stderr
    assert "Ray runtime started" in joined.stdout + joined.stderr
