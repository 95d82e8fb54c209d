"""A run of the job mixing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.mixing import job as mixing
from jobs.mixing.job import MixingConfig
from tests.jobs.finished_runs.published import published


def mixing_config(out: Path, source: Path, model: Path, **options: Any) -> MixingConfig:
    values = {"out": str(out), "corpus": (str(source),), "model": str(model), "split": "none", "shard_size": 20}
    return MixingConfig.model_validate({**values, "workers": 2, "per_token": True, "token_budget": 256, **options})


@pytest.fixture(scope="session")
def mixing_run(
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> tuple[Path, Path]:
    """The job mixing on a small random model by two workers: the run directory, partials kept, and the model."""
    model = make_model(small_bert)
    out = tmp_path_factory.mktemp("runs") / "mixing"
    mixing.JOB.run(mixing_config(out, source, model, keep_partials=True))
    return published(out), model
