"""A run of the job compare, and another run that it is compared with."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from jobs.compare import job as compare
from jobs.compare.job import CompareConfig
from ops.schema import TABLES
from tests.jobs.finished_runs.published import published


def compare_config(out: Path, **options: Any) -> CompareConfig:
    small = {"permutations": 50, "rotations": 3, "nearest": 2, "group_count": 4, "group_range": (2, 4)}
    small |= {"diversity_clusters": (1, 4), "resamples": 50, "split": "none", "figure_units": "2:9", "workers": 1}
    return CompareConfig.model_validate({"out": str(out), **small, **options})


@pytest.fixture(scope="session")
def control_run(small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small run whose scores are halved, as those of another run over the same corpus."""
    out = tmp_path_factory.mktemp("runs") / "control"
    shutil.copytree(small_run[0], out)
    record = json.loads((out / "run.json").read_text())
    for file in record["tables"]["scores"]:
        table = pq.read_table(out / file["name"], schema=TABLES["scores"].arrow)
        place = table.schema.get_field_index("auc")
        table = table.set_column(place, table.schema.field("auc"), pc.multiply(table["auc"], 0.5))
        pq.write_table(table, out / file["name"])
        file |= {"bytes": (out / file["name"]).stat().st_size, "fingerprint": "control"}
    (out / "run.json").write_text(json.dumps(record))
    return out


@pytest.fixture(scope="session")
def compare_run(
    small_run: tuple[Path, Path],
    control_run: Path,
    source: Path,
    texts: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Path]:
    """The job compare on a copy of the small run, against its own model: the run directory and the model's folder."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(small_run[0], folder / "compare")
    (folder / "some.txt").write_text("\n".join([*texts[:30], *texts[:5]]), encoding="utf-8")
    sets = (f"docs={source}", f"some={folder / 'some.txt'}")
    ablate = {"ablate": 2, "ablate_most": 8, "ablate_random": 2, "ablate_sentences": 8}
    others = {"against": str(small_run[1]), "against_run": str(control_run), "with_": str(control_run)}
    compare.JOB.run(compare_config(folder / "compare", **others, text_set=sets, **ablate))
    return published(folder / "compare"), small_run[1]
