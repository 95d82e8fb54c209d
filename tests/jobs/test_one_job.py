"""One job at a time holds a run, and a job that is killed while it replaces results leaves the old ones or the new."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jobs.stage.run import Run
from ops.storage.lock import LOCK
from tests.conftest import ROOT

pytestmark = pytest.mark.faults

# The process that moves a file to a name with FAULT_MATCH in it is killed at the FAULT_AT-th, before or after.
SITE = """
import os
_replace, _seen = os.replace, 0
def replace(source, target, **options):
    global _seen
    own = os.environ["FAULT_MATCH"] in str(target)
    _seen += own
    if own and _seen == int(os.environ["FAULT_AT"]) and os.environ["FAULT"] == "before":
        os.kill(os.getpid(), 9)
    _replace(source, target, **options)
    if own and _seen == int(os.environ["FAULT_AT"]) and os.environ["FAULT"] == "after":
        os.kill(os.getpid(), 9)
os.replace = replace
"""


def start(out: Path, *options: str, **env: str) -> "subprocess.Popen[str]":
    source = out.with_suffix(".txt")
    if not source.exists():
        source.write_text("".join(f"This is sentence number {i} of the text.\n" for i in range(60)))
    command = [sys.executable, "-m", "jobs.ingest", "--out", out, "--corpus", source, "--split", "none", *options]
    return subprocess.Popen(
        [*map(str, command), "--workers", "1"],
        cwd=ROOT, env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process: "subprocess.Popen[str]") -> tuple[int, list[str]]:
    _, said = process.communicate(timeout=240)
    return process.returncode, said.splitlines()


def corpus(out: Path) -> list[int]:
    return [pq.read_metadata(path).num_rows for path in sorted((out / "corpus").glob("*.parquet"))]


@pytest.mark.parametrize("later", [0.0, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0])
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
    assert corpus(out) == [60]
    assert not (out / LOCK).exists()
    assert finish(start(out)) == (0, ["ingest: already done, 60 sentences"])


@pytest.mark.parametrize(
    ("match", "at", "fault"),
    [
        ("run.json", 1, "after"),
        ("run.json", 2, "before"),
        ("run.json", 2, "after"),
        ("run/corpus/part-00000", 1, "before"),
        ("run/corpus/part-00001", 1, "after"),
        ("run/rejects/part-00000", 1, "after"),
        ("run.json", 3, "before"),
    ],
)
def test_a_job_killed_while_it_does_a_stage_again_leaves_the_old_or_the_new(
    tmp_path: Path, match: str, at: int, fault: str
) -> None:
    out = tmp_path / "run"
    old, new = ("--shard-size", "20"), ("--shard-size", "7")
    assert finish(start(out, *old))[0] == 0
    (tmp_path / "sitecustomize.py").write_text(SITE)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    site = {"PYTHONPATH": path, "FAULT_MATCH": f"{tmp_path.name}/{match}", "FAULT_AT": str(at), "FAULT": fault}
    if match == "run.json":
        site["FAULT_MATCH"] = f"{out}/run.json"
    status, said = finish(start(out, *new, "--redo", **site))
    assert status == -9, said

    record = json.loads((out / "run.json").read_text())
    if "publishing" not in record:
        # Any reader of the folder sees one of the two corpora, complete.
        assert corpus(out) in ([20, 20, 20], [7] * 8 + [4])
    assert record["stages"]["ingest"]["complete"]
    rows = [file["rows"] for file in record["tables"]["corpus"]]
    run = Run(str(out))
    run.check_files("ingest", footers=True)
    assert corpus(out) == rows
    assert rows in ([20, 20, 20], [7] * 8 + [4])

    status, said = finish(start(out, *new, *(["--redo"] if rows[0] == 20 else [])))
    assert status == 0, said
    assert corpus(out) == [7] * 8 + [4]
    assert sorted(p.name for p in out.iterdir()) == ["_partials", "_tokens", "corpus", "rejects", "run.json"]
