"""A job that works on a run takes the run's model unless another one is named."""

import json
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

from jobs.options.configs import CorpusConfig
from jobs.psi import job as psi
from jobs.run_folder.run import Run
from tests.all_jobs import find_jobs

WITH_A_MODEL = sorted(name for name, job in find_jobs().items() if issubclass(job.options, CorpusConfig))


def model_in(name: str, **options: object) -> tuple[str, int | None]:
    """Return the model, and the seed of its weights, with which a job begins."""
    given: list[CorpusConfig] = []
    job = find_jobs()[name]
    with patch("jobs.stage.main.resolve_name", return_value=lambda config, run: given.append(config)):
        job.run(job.options.model_validate(options))
    return given[0].model, given[0].model_seed


@pytest.mark.parametrize("name", WITH_A_MODEL)
def test_the_model_of_the_run_is_the_default(name: str, small_run: tuple[Path, Path], tmp_path: Path) -> None:
    out, model = map(str, small_run)
    assert model_in(name, out=out) == (model, None)
    assert model_in(name, out=out, dry_run=True) == (model, None)
    assert model_in(name, out=out, model="sample") == ("sample", None)
    assert model_in(name, out=str(tmp_path / "new")) == ("sample", None)


def test_the_seed_of_random_weights_is_the_run_s_too(tmp_path: Path, small_run: tuple[Path, Path]) -> None:
    shutil.copytree(small_run[0], tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    record["stages"]["topk"]["config"] |= {"model": "random:sample", "model_seed": 3}
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    out = str(tmp_path / "run")
    assert model_in("psi", out=out) == ("random:sample", 3)
    assert model_in("psi", out=out, model_seed=4) == ("random:sample", 4)
    assert model_in("psi", out=out, model="sample") == ("sample", None)


@pytest.mark.slow
def test_psi_measures_the_word_embeddings_of_the_run_s_model(tmp_path: Path, small_run: tuple[Path, Path]) -> None:
    out = shutil.copytree(small_run[0], tmp_path / "run")
    options = {"out": str(out), "static_only": True, "clusters": 2, "cluster_seeds": 1, "workers": 1}
    psi.JOB.run(psi.PsiConfig.model_validate(options))
    record = Run(str(out))
    measured = record.require("psi")
    assert measured["identity"]["model"] == record.require("topk")["identity"]["model"]
    assert measured["config"]["model"] == str(small_run[1])
