"""One job at a time holds a run."""

import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ops.storage.lock import LOCK
from tests.conftest import ROOT

pytestmark = pytest.mark.faults


def start(out: Path) -> "subprocess.Popen[str]":
    source = out.with_suffix(".txt")
    if not source.exists():
        source.write_text("".join(f"This is sentence number {i} of the text.\n" for i in range(60)))
    command = [sys.executable, "-m", "jobs.ingest", "--out", out, "--corpus", source, "--split", "none"]
    return subprocess.Popen(
        [*map(str, command), "--workers", "1"],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process: "subprocess.Popen[str]") -> tuple[int, list[str]]:
    _, said = process.communicate(timeout=240)
    return process.returncode, said.splitlines()


@pytest.mark.parametrize("later", [0.0, 0.6, 1.5, 3.0, 6.0])
def test_of_two_jobs_started_at_once_one_does_it(tmp_path: Path, later: float) -> None:
    out = tmp_path / "run"
    first = start(out)
    time.sleep(later)
    second = start(out)
    (status, said), (other, told) = finish(first), finish(second)
    # Who comes first takes the run, whichever was started first.
    if status:
        (status, said), (other, told) = (other, told), (status, said)
    assert status == 0, said
    assert not [line for line in told if "Traceback" in line]
    if other == 0:
        assert "ingest: already done, 60 sentences" in told
    else:
        assert other == 2
        assert "another job holds this run: ingest" in told[-1] or "give the same command again" in told[-1]
    assert [pq.read_metadata(path).num_rows for path in (out / "corpus").glob("*.parquet")] == [60]
    assert not (out / LOCK).exists()
    assert finish(start(out)) == (0, ["ingest: already done, 60 sentences"])
