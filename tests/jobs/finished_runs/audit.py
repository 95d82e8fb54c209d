"""A run whose units were planted, audited."""

from pathlib import Path

import pytest

from jobs.audit import job as audit
from jobs.audit.job import AuditConfig
from jobs.run import job as run_job
from jobs.run.job import RunConfig
from tests.jobs.finished_runs.published import published
from tests.jobs.planted_datasets import write_planted_datasets


@pytest.fixture(scope="session")
def audit_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The main job on planted units and a corpus of three data sets, with its audit, and the corpus."""
    folder = tmp_path_factory.mktemp("audited")
    run = audit_planted(folder, "last")
    return published(run), folder / "corpus"


def audit_planted(folder: Path, pool: str) -> Path:
    """Run the main job on planted units with a pooling, and audit it; return the run."""
    model, corpus = write_planted_datasets(folder)
    options = {
        "out": str(folder / "run"), "model": str(model), "split": "none", "k": 60, "k_per_dataset": 25,
        "corpus": tuple(map(str, sorted(corpus.iterdir()))), "site": "mlp", "pool": pool,
        "activation_sample": 2_000, "workers": 1, "no_tokens": True,
    }  # fmt: skip
    run_job.JOB.run(RunConfig.model_validate(options))
    audit.JOB.run(AuditConfig(out=options["out"], workers=1))
    return folder / "run"
