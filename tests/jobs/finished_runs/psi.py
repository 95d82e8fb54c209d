"""A run of the job psi."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.psi import job as psi
from jobs.psi.job import PsiConfig
from tests.jobs.finished_runs.published import published


def psi_options(out: Path, model: Path, **more: Any) -> dict[str, Any]:
    small = {"clusters": 12, "cluster_seeds": 2, "split": "none", "shard_size": 40}
    return {"out": str(out), "model": str(model), **small, **more}


@pytest.fixture(scope="session")
def psi_run(
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> tuple[Path, Path]:
    """The job psi on a small random model by two workers: its run directory, partials kept, and the model's folder."""
    model = make_model(small_bert)
    out = tmp_path_factory.mktemp("runs") / "psi"
    more = {"corpus": (str(source),), "workers": 2, "keep_partials": True}
    psi.JOB.run(PsiConfig.model_validate(psi_options(out, model, **more)))
    return published(out), model
