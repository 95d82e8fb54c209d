"""Measures over units leave out silent ones: a small run with one silent unit, through the jobs that have measures."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModel

from jobs.compare import job as compare
from jobs.explain import job as explain
from jobs.explain.job import ExplainConfig
from jobs.run import job as run_job
from ops.report.side_jobs import finding
from ops.storage.store import Store
from tests.jobs.finished_runs.compare import compare_config
from tests.jobs.finished_runs.main import config

pytestmark = pytest.mark.slow
SILENT, WIDTH, LAYERS = (1, 5), 12, 2


@pytest.fixture(scope="module")
def silent_run(small_run: tuple[Path, Path], source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The main job, explain and compare on the small model, one of whose units has next to no weight."""
    folder = tmp_path_factory.mktemp("silent")
    shutil.copytree(small_run[1], folder / "model")
    model = AutoModel.from_pretrained(folder / "model")
    layer, unit = SILENT
    with torch.no_grad():
        norm = model.encoder.layer[layer - 1].output.LayerNorm
        norm.weight[unit], norm.bias[unit] = 1e-9, 0.0
    model.save_pretrained(folder / "model")
    out = folder / "run"
    run_job.JOB.run(config(out, source, model=str(folder / "model"), null_sets=6, activation_sample=300))
    explain.JOB.run(ExplainConfig(out=str(out), workers=1))
    parts = ("dimensions", "diversity", "ablation")
    small = {"ablate": 24, "ablate_most": 24, "ablate_random": 2, "ablate_sentences": 8}
    compare.JOB.run(compare_config(out, part=parts, **small))
    return out


def read(out: Path, table: str) -> pd.DataFrame:
    return pq.read_table(out / table).to_pandas()


def test_layers_are_compared_without_silent_units(silent_run: Path) -> None:
    neurons = read(silent_run, "neurons")
    assert [tuple(key) for key in neurons[neurons.is_silent][["layer", "unit"]].to_numpy()] == [SILENT]
    kept = neurons[neurons.unit != SILENT[1]].sort_values("unit")
    found = read(silent_run, "compare/dimensions").set_index("property").correlation
    for name in ("std", "mean", "max"):
        one, other = (kept[kept.layer == layer][name] for layer in (1, 2))
        assert found[f"neurons:{name}"] == pytest.approx(np.corrcoef(one, other)[0, 1], abs=1e-5)
    sample = read(silent_run, "activations")
    std = [np.delete(np.stack(sample[f"layer_{i}"].tolist()).std(0), SILENT[1]) for i in (1, 2)]
    found = read(silent_run, "compare/rotated").set_index("property").correlation
    assert found["neurons:std"] == pytest.approx(np.corrcoef(*std)[0, 1], abs=1e-5)


def test_means_and_shares_are_over_the_other_units(silent_run: Path) -> None:
    controls = read(silent_run, "explain/controls").query("model == 'activation' and measure == 'r2'")
    n = {(row.basis, row.layer): row.n for row in controls.itertuples()}
    expected = {("neurons", 1): 11, ("neurons", 2): 12, ("shuffled", 1): 11, ("rotated", 1): 12}
    assert {key: n[key] for key in expected} == expected
    assert set(read(silent_run, "chance").n) == {2 * (LAYERS * WIDTH - 1)}
    assert f"of {2 * (LAYERS * WIDTH - 1)} neurons" in finding(Store(str(silent_run)), ("explanations",), "explain")
    topk, diversity = read(silent_run, "topk"), read(silent_run, "compare/diversity")
    own = topk[(topk.layer == SILENT[0]) & (topk.unit != SILENT[1])]
    assert set(diversity[diversity.layer == SILENT[0]].n) == {len(own)}


def test_silent_units_are_neither_moved_nor_drawn(silent_run: Path) -> None:
    found = read(silent_run, "compare/ablation")
    assert set(found.unit[found.layer == SILENT[0]]) == set(range(WIDTH)) - {SILENT[1]}
