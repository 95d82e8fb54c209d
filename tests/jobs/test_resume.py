"""A run whose driver is killed and started again ends with the same rows, and does not redo what was finished."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jobs import run
from ops.sources.docstrings.packages import read_pydocs
from ops.sources.rows import Row
from tests.jobs.processes import MOST_S, Process, committed, kill_when, start_job

TABLES = (
    *("corpus", "rejects", "topk", "neurons", "activations", "unscored"),
    *("sentences", "patterns", "profiles", "means", "scores"),
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "docs.jsonl"
    rows = [row.text for row in read_pydocs("stdlib:0") if isinstance(row, Row)][:700]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in rows), encoding="utf-8")
    return path


OPTIONS = {"limit": 400, "k": 20, "shard_size": 40, "workers": 2, "keep_partials": True}


def start(out: Path, source: Path, log: Path, model: str) -> Process:
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in OPTIONS.items() if value is not True]
    return start_job("run", log, "--out", out, "--corpus", source, "--keep-partials", *flags, f"--model={model}")


@pytest.mark.faults
def test_kill_9_and_go_on(tmp_path: Path, source: Path, make_model: Callable[..., Path], small_bert: object) -> None:
    """Killed while scoring, while annotating and while mining, and started again each time."""
    model = str(make_model(small_bert))
    options = {**OPTIONS, "out": str(tmp_path / "whole"), "corpus": (str(source),), "workers": 1, "model": model}
    run.JOB.run(run.RunConfig.model_validate(options))

    out, log = tmp_path / "killed", tmp_path / "log"
    partials = out / "_partials"
    scored, annotated, mined = (partials / stage for stage in ("topk", "annotate", "mine"))
    kill_when(lambda: len(committed(scored, "shard-*")) >= 3, start(out, source, log, model), log)
    finished = committed(scored, "shard-*")
    assert 3 <= len(finished) < 10, "the kill came too late to show anything"
    assert not (out / "topk").exists()
    stray = scored / ".shard-00099.parquet.attempt"
    stray.write_bytes(b"PAR1 half a file")
    torn = sorted(finished)[0]
    path = scored / torn
    path.write_bytes(path.read_bytes()[:-40])

    kill_when(lambda: len(committed(annotated, "shard-*")) >= 2, start(out, source, log, model), log)
    after = committed(scored, "shard-*")
    assert len(after) == 10
    assert {n: t for n, t in after.items() if n in finished and n != torn} == {
        n: t for n, t in finished.items() if n != torn
    }, "a finished shard was done again"
    # Workers of the killed driver may have put one more shard in place before they noticed.
    before = re.search(r"(\d+) of 10 shards were already done", log.read_text())
    assert before is not None
    assert int(before[1]) >= len(finished) - 1
    assert stages(out)["topk"]["complete"] is True
    assert stages(out)["annotate"]["complete"] is False

    kill_when(lambda: bool(committed(mined, "range-*")), start(out, source, log, model), log)
    assert stages(out)["mine"]["complete"] is False
    last = start(out, source, log, model)
    assert last.wait(timeout=MOST_S) == 0, log.read_text()
    assert "annotate: already done" in log.read_text()
    for table in TABLES:
        assert pq.read_table(tmp_path / "whole" / table).equals(pq.read_table(out / table)), table


def stages(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "run.json").read_text())["stages"]
    return found
