"""Each step of the job `compare`, item by item: done only where its files are, which come in the order stated."""

import shutil
from pathlib import Path

import pytest

from jobs.compare import job as compare
from jobs.compare.diversity import check_clusters
from jobs.engine.item import Item
from jobs.stage.runner import Stage
from jobs.stage.step import Step
from ops.errors import InputError
from tests.jobs.finished_runs.compare import compare_config
from tests.jobs.in_process import do_in_reverse

STEPS = [
    "bases", "neighbours", "nearest", "groups", "draw", "embed", "clusters", "matches", "shared winners", "scores",
    "text sets", "shift", "two runs", "ablation",
]  # fmt: skip


@pytest.mark.slow
def test_every_step_keeps_its_promises(
    small_run: tuple[Path, Path], control_run: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def do(stage: Stage, step: Step) -> list[Item]:
        do_in_reverse(step, stage.store, stage.fingerprint)
        done.append(step.name.removeprefix("compare: "))
        return []

    monkeypatch.setattr(Stage, "do", do)
    out = shutil.copytree(small_run[0], tmp_path / "run")
    others = dict.fromkeys(("with_", "against_run", "against"), str(control_run))
    ablate = {"ablate": 1, "ablate_most": 5, "ablate_random": 2, "ablate_sentences": 6}
    compare.JOB.run(compare_config(out, **others, text_set=(f"docs={source}",), text_limit=50, **ablate))
    assert done == STEPS


def test_numbers_of_clusters_above_the_number_of_winners_are_skipped_or_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    check_clusters((1, 70), [70, 90])
    assert capsys.readouterr().err == ""
    check_clusters((1, 71), [70, 90])
    assert "71 clusters are skipped for layers with fewer sentences" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"--diversity-clusters 91: no layer has more than 90 sentences"):
        check_clusters((91, 900), [70, 90])
