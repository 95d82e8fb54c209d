"""A run whose driver is killed and started again ends with the same rows, and does not redo what was finished."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jobs import topk
from ops.pydocs import read_pydocs
from ops.rows import Row
from tests.conftest import ROOT

TABLES = ("corpus", "rejects", "topk", "neurons", "activations", "unscored")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "docs.jsonl"
    rows = [row.text for row in read_pydocs("stdlib:0") if isinstance(row, Row)][:700]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in rows), encoding="utf-8")
    return path


OPTIONS = {"limit": 400, "k": 20, "shard_size": 40, "workers": 2, "keep_partials": True}


def start(out: Path, source: Path, log: Path) -> "subprocess.Popen[bytes]":
    """Start the job in a process group of its own, as a user would in a terminal."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in OPTIONS.items() if value is not True]
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "jobs.topk", "--out", out, "--corpus", source, "--keep-partials", *flags],
            cwd=ROOT,
            stderr=stream,
            start_new_session=True,
        )


def committed(out: Path) -> dict[str, int]:
    return {p.name: p.stat().st_mtime_ns for p in (out / "_partials" / "topk").glob("shard-*.parquet")}


def test_kill_9_and_go_on(shared_ray: None, tmp_path: Path, source: Path) -> None:
    options = {**OPTIONS, "out": str(tmp_path / "whole"), "corpus": (str(source),), "workers": 1}
    topk.run(topk.TopkConfig.model_validate(options))

    log = tmp_path / "log"
    killed = start(tmp_path / "killed", source, log)
    deadline = time.monotonic() + 240
    while len(committed(tmp_path / "killed")) < 3:
        assert killed.poll() is None, log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    time.sleep(1)
    finished = committed(tmp_path / "killed")
    assert 3 <= len(finished) < 10, "the kill came too late to show anything"
    assert not (tmp_path / "killed" / "topk").exists()
    stray = tmp_path / "killed" / "_partials" / "topk" / "shard-00099.parquet"
    stray.write_bytes(b"PAR1 half a file")
    stray.rename(stray.with_name(".shard-00099.parquet.attempt"))
    torn = sorted(finished)[0]
    path = tmp_path / "killed" / "_partials" / "topk" / torn
    path.write_bytes(path.read_bytes()[:-40])

    again = start(tmp_path / "killed", source, log)
    assert again.wait(timeout=240) == 0, log.read_text()
    after = committed(tmp_path / "killed")
    assert len(after) == 10
    assert {n: t for n, t in after.items() if n in finished and n != torn} == {
        n: t for n, t in finished.items() if n != torn
    }, "a finished shard was done again"
    # Workers of the killed driver may have put one more shard in place before they noticed.
    before = re.search(r"(\d+) of 10 shards were done before", log.read_text())
    assert before is not None
    assert int(before[1]) >= len(finished) - 1
    for table in TABLES:
        assert pq.read_table(tmp_path / "whole" / table).equals(pq.read_table(tmp_path / "killed" / table)), table
