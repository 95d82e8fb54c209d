"""What the tests of jobs share: an engine without Ray unless Ray is asked for, and finished runs of every job."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.engine.fan_out import fan_out
from jobs.stage import runner
from tests.jobs.finished_runs.audit import audit_run
from tests.jobs.finished_runs.compare import compare_run, control_run
from tests.jobs.finished_runs.contrast import contrast_run
from tests.jobs.finished_runs.decoder import outputs_run, positions_run, scored_gpt2, small_gpt2
from tests.jobs.finished_runs.explained import explain_run
from tests.jobs.finished_runs.finetune import finetune_run, labelled
from tests.jobs.finished_runs.main import finished, small_run, source, texts
from tests.jobs.finished_runs.meaning import meaning_run, translations_run
from tests.jobs.finished_runs.mixing import mixing_run
from tests.jobs.finished_runs.psi import psi_run
from tests.jobs.in_process import InProcess

__all__ = [
    "audit_run",
    "compare_run",
    "contrast_run",
    "control_run",
    "explain_run",
    "finetune_run",
    "finished",
    "labelled",
    "meaning_run",
    "mixing_run",
    "outputs_run",
    "positions_run",
    "psi_run",
    "scored_gpt2",
    "small_gpt2",
    "small_run",
    "source",
    "texts",
    "translations_run",
]

EXPLAINED = {"explanations", "explanation_terms", "explanation_folds", "families", "examples", "negative_tokens"}


@pytest.fixture(scope="session", autouse=True)
def _in_process() -> Iterator[None]:
    """Let all jobs run in this process: a start of Ray takes seconds, and what it does is tested on its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "fan_out", InProcess())
        yield


@pytest.fixture
def on_ray(shared_ray: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the jobs of a test run on Ray."""
    monkeypatch.setattr(runner, "fan_out", fan_out)


@pytest.fixture(autouse=True)
def _faults_on_ray(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("faults"):
        request.getfixturevalue("on_ray")
        request.getfixturevalue("actors")


@pytest.fixture
def run_with(request: pytest.FixtureRequest) -> Callable[..., Path]:
    """Find a finished run that holds some tables: that of the fixture `NAME_run` for those of a side job."""

    def find(*tables: str) -> Path:
        jobs = [table.partition("/")[0] for table in tables if "/" in table]
        if "meaning/translations" in tables:
            name = "translations_run"
        elif not EXPLAINED.isdisjoint(tables) and "audit" not in jobs:
            name = "explain_run"
        elif not jobs and {"scores", "chance", "token_activations", "peaks"}.isdisjoint(tables):
            name = "finished"
        else:
            name = f"{jobs[0] if jobs else 'small'}_run"
        run: Path | tuple[Path, Path] = request.getfixturevalue(name)
        return run if isinstance(run, Path) else run[0]

    return find
