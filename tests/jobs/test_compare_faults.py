"""Each part of the job `compare` is killed in the middle: the same command resumes and writes the usual files."""

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from jobs.compare import job as compare
from jobs.compare.job import CompareConfig
from jobs.stage.run import Run
from jobs.stage.stages import STAGES
from tests.jobs.broken_site import broken_site
from tests.jobs.processes import committed, kill_when, start_job

# Of each part a folder of what it has under way, the files there that are waited for, and how many of all of them.
WATCHED = {
    "dimensions": ("", "basis-*", 2, 4),
    "neighbours": ("tables/compare/neighbours", "part-*", 1, 1),  # compare/nearest is missing then
    "groups": ("tables/compare/group_traits", "part-*", 1, 3),  # the last of a layer's files
    "diversity": ("", "shard-*", 2, 4),
    "matches": ("", "layer-*", 1, 2),
    "shift": ("", "distances-*", 1, 2),
    "ablation": ("", "block-*", 1, 2),
}


def without_footer(path: Path) -> bytes:
    """Return what a file holds, of Parquet all but the footer."""
    data = path.read_bytes()
    if path.suffix != ".parquet":
        return data
    (length,) = struct.unpack("<I", data[-8:-4])
    return data[: -8 - length]


def contents(out: Path, part: str) -> dict[str, bytes]:
    """Return what the files of a part hold that run.json names, of Parquet all but the footers."""
    tables = json.loads((out / "run.json").read_text())["tables"]
    files = (file for table in STAGES[f"compare/{part}"].tables for file in tables[table])
    return {file["name"]: without_footer(out / file["name"]) for file in files}


def timeless(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("complete", "counts", "fingerprint", "identity")}


@pytest.mark.faults
@pytest.mark.parametrize("part", WATCHED)
def test_kill_9_and_go_on(
    compare_run: tuple[Path, Path], small_run: tuple[Path, Path], tmp_path: Path, part: str
) -> None:
    whole, out, log, file = compare_run[0], tmp_path / "run", tmp_path / "log", tmp_path / "options.json"
    stage = f"compare/{part}"
    given = Run(str(whole)).require(stage)["config"]
    config = CompareConfig.model_validate({**given, "out": str(out), "part": (part,)})
    file.write_text(json.dumps(config.model_dump(mode="json", exclude_defaults=True)))
    shutil.copytree(small_run[0], out)
    below, names, least, of_all = WATCHED[part]
    folder = out / STAGES[stage].partials / below
    job = start_job("compare", log, "--config", file, **broken_site(tmp_path, match=STAGES[stage].partials, pause=0.7))
    kill_when(lambda: len(committed(folder, names)) >= least, job, log)
    done = committed(folder, names)
    assert least <= len(done) <= max(of_all - 1, least), "the kill came too late to show anything"
    assert not json.loads((out / "run.json").read_text())["stages"][stage]["complete"]
    assert not any((out / table).exists() for table in STAGES[stage].tables)
    compare.JOB.run(config.model_copy(update={"keep_partials": True}))
    after = committed(out / below.removeprefix("tables/") if below else folder, names)
    assert after.items() >= done.items(), "what was finished was done again"
    assert len(after) == of_all
    assert contents(out, part) == contents(whole, part)
    assert timeless(Run(str(out)).require(stage)) == timeless(Run(str(whole)).require(stage))
