"""On Ray, by two workers that are processes of their own, jobs give the rows that they give in one process.

The main job and its store are in test_s3; here it is once for each frame: ranges of neurons, and a pass over shards.
"""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jobs.mine import job as mine
from jobs.mine.job import MineConfig
from jobs.mixing import job as mixing
from tests.jobs.finished_runs.mixing import mixing_config

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("on_ray", "actors")]


def test_ranges_of_neurons(small_run: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.stage.ranges.NEURONS_PER_RANGE", (5, 5))
    out = tmp_path / "run"
    shutil.copytree(small_run[0], out)
    mine.JOB.run(MineConfig(out=str(out), workers=2, redo=True, null_sets=6))
    for table in ("patterns", "profiles", "means", "scores", "chance"):
        assert pq.read_table(out / table).equals(pq.read_table(small_run[0] / table)), table


def test_a_pass_over_shards(mixing_run: tuple[Path, Path], source: Path, tmp_path: Path) -> None:
    mixing.JOB.run(mixing_config(tmp_path / "run", source, mixing_run[1]))
    for table in ("mixing/ratios", "mixing/norms", "mixing/tokens"):
        assert pq.read_table(tmp_path / "run" / table).equals(pq.read_table(mixing_run[0] / table)), table
