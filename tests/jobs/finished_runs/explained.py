"""The small run, explained."""

import shutil
from pathlib import Path

import pytest

from jobs.explain import job as explain
from jobs.explain.job import ExplainConfig
from jobs.tokens import job as tokens
from jobs.tokens.job import TokensConfig
from tests.jobs.finished_runs.published import published


@pytest.fixture(scope="session")
def explain_run(small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the small run, explained, with hard negatives token by token: its directory and the model's folder."""
    out = tmp_path_factory.mktemp("runs") / "explain"
    shutil.copytree(small_run[0], out)
    explain.JOB.run(ExplainConfig(out=str(out), workers=1))
    tokens.JOB.run(TokensConfig(out=str(out), workers=1))
    return published(out), small_run[1]
