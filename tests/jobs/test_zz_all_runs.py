"""Copied into tests/jobs/ of a worktree: makes every finished run."""
import pytest
from tests.jobs.finished_runs.main import finished
RUNS = ["finished","small_run","explain_run","mixing_run","psi_run","positions_run","scored_gpt2","outputs_run","compare_run","meaning_run","translations_run","finetune_run","audit_run"]
@pytest.mark.parametrize("name", RUNS)
def test_run(name, request):
    request.getfixturevalue(name)
