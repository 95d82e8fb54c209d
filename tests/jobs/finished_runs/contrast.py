"""A run whose units were planted, with metadata that say which sentences have a word, contrasted by it."""

import json
from pathlib import Path

import pytest

from bench.planted import write_planted
from jobs.contrast import job as contrast
from jobs.contrast.job import ContrastConfig
from jobs.run import job as run_job
from jobs.run.job import RunConfig
from tests.jobs.finished_runs.published import published

WORD, SENTENCES, ON = "lantern", 900, 60


def probe_quickly(patch: pytest.MonkeyPatch) -> None:
    """Let probes have one penalty and three rotations, as thousands of small fits take a minute."""
    patch.setattr("ops.contrast.probes.PENALTIES", (0.1,))
    patch.setattr("ops.contrast.probes.ROTATIONS", 3)


@pytest.fixture(scope="session")
def contrast_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The main job on planted units, contrasted by the word that one of them detects: the run and the model."""
    folder = tmp_path_factory.mktemp("contrasted")
    model, corpus = write_planted(folder, SENTENCES, ON)
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    for place, row in enumerate(rows):
        row["word"] = WORD if WORD in row["text"].split() else "other"
        row["half"] = None if place < 40 else "odd" if int(row["doc_id"][1:]) % 2 else "even"
        row["same"] = "yes"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = {
        "out": str(folder / "run"), "model": str(model), "split": "none", "k": ON, "corpus": (str(corpus),),
        "site": "mlp", "pool": "last", "activation_sample": SENTENCES, "workers": 1, "no_tokens": True,
        "no_explain": True, "no_scores": True,
    }  # fmt: skip
    run_job.JOB.run(RunConfig.model_validate(options))
    with pytest.MonkeyPatch.context() as patch:
        probe_quickly(patch)
        contrast.JOB.run(ContrastConfig.model_validate({"out": options["out"], "by": ("word", "half"), "workers": 1}))
    return published(folder / "run"), model
