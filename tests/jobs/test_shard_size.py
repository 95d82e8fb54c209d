"""The size of shards: by the number of sentences, known once they are; a run that has its own keeps it."""

import errno
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jobs.ingest import job as ingest
from jobs.ingest import write
from jobs.ingest.job import IngestConfig
from jobs.run_folder.run import RunReader
from jobs.stage.main import main

ROWS = 1_300


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of 1,300 sentences, and each of the first hundred again."""
    path = tmp_path / "a.txt"
    lines = [f"This is sentence number {i} of the text\n" for i in range(ROWS)]
    path.write_text("".join(lines + lines[:100]))
    return path


@pytest.fixture
def run(tmp_path: Path, source: Path) -> Any:
    """Run ingest on the source with further options and return its status."""

    def call(*options: str) -> int:
        argv = ["--out", str(tmp_path / "run"), "--corpus", str(source), "--split", "none", "--workers", "1"]
        return main(IngestConfig, "ingest", "", ingest.JOB.run, [*argv, *options])

    return call


def shards(out: Path) -> list[int]:
    return [pq.read_metadata(path).num_rows for path in sorted((out / "corpus").glob("*.parquet"))]


def entry(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "run.json").read_text())["stages"]["ingest"]
    return found


def test_the_size_follows_from_the_sentences_that_are_kept(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies do not count, nor do sentences beyond --limit."""
    monkeypatch.setattr("ops.shards.LEAST_SIZE", 10)
    out = tmp_path / "run"
    assert run() == 0
    assert shards(out) == [41] * 31 + [29]
    assert entry(out)["config"]["shard_size"] == 41
    assert [RunReader(str(out)).shards().span(i) for i in (0, 1, 31)] == [(0, 41), (41, 82), (1_271, 1_300)]
    assert run("--redo", "--limit", "700", "--shard-size", "auto") == 0
    assert shards(out) == [22] * 31 + [18]


def test_what_it_came_to_may_be_given_and_another_is_refused(
    tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    for same in ([], ["--shard-size", "auto"], ["--shard-size", "500"]):
        assert run(*same) == 0
        assert "ingest: already done" in capsys.readouterr().err
        assert entry(tmp_path / "run")["config"]["shard_size"] == 500
    assert run("--shard-size", "501") == 2
    assert "shard_size (was 500, is 501)" in capsys.readouterr().err


def test_a_run_with_a_size_of_its_own_is_read_and_left_as_it_is(
    tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """As one that a preset of an earlier version gave its size."""
    out = tmp_path / "run"
    assert run("--shard-size", "400") == 0
    before = (out / "run.json").read_bytes()
    assert run() == 0
    assert "already done" in capsys.readouterr().err
    assert (out / "run.json").read_bytes() == before
    assert len(RunReader(str(out)).shards()) == 4
    assert run("--limit", "900") == 2
    assert "other options: limit (was not given, is 900);" in capsys.readouterr().err
    assert run("--redo") == 0
    assert shards(out) == [500, 500, 300]


@pytest.mark.parametrize(("given", "size"), [([], 500), (["--shard-size", "400"], 400)])
def test_a_job_that_was_killed_is_resumed_without_the_option(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch, given: list[str], size: int
) -> None:
    out, writing = tmp_path / "run", write.TableWriter._write_shard

    def killed(self: write.TableWriter, own: Any) -> None:
        if own[0] == 1:
            raise OSError(errno.EIO, "broken")
        writing(self, own)

    with monkeypatch.context() as patch:
        patch.setattr(write.TableWriter, "_write_shard", killed)
        assert run(*given) == 1
    assert not entry(out)["complete"]
    pieces = {path: path.stat().st_mtime_ns for path in (out / "_partials" / "ingest").glob("piece-*")}
    assert pieces
    with monkeypatch.context() as patch:
        # What was read is not read again.
        patch.setattr("jobs.ingest.read.PieceReader.__call__", lambda *_: pytest.fail("read again"))
        assert run() == 0
    assert shards(out) == [size] * (ROWS // size) + [ROWS % size]
    assert entry(out)["config"]["shard_size"] == size


def test_a_dry_run_says_the_number(tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--dry-run") == 0
    assert "number 1,300 sentences in 3 shards of 500" in capsys.readouterr().out
    assert run("--dry-run", "--shard-size", "700") == 0
    assert "number 1,300 sentences in 2 shards of 700" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()
