"""Jobs on a model with random weights: the same rows however it ran, another seed refused, named on every page."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jobs.finetune import job as finetune
from jobs.run_folder.run import Run
from jobs.stage.checks import model_of_topk
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from ops.errors import InputError
from ops.model.load import load_model, read_facts
from tests.jobs.finished_runs.finetune import finetune_config

Call = Callable[..., subprocess.CompletedProcess[str]]
SEED = 3


def config(out: Path, source: Path, model: str, **more: Any) -> TopkConfig:
    small = {"split": "none", "k": 20, "shard_size": 100, "activation_sample": 50, "workers": 2}
    return TopkConfig.model_validate({"out": str(out), "corpus": (str(source),), "model": model, **small, **more})


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Path], small_bert: object) -> Path:
    return make_model(small_bert)


@pytest.fixture(scope="module")
def scored(model: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The job topk by two workers, on random weights."""
    out = tmp_path_factory.mktemp("runs") / "random"
    topk.JOB.run(config(out, source, f"random:{model}", model_seed=SEED))
    return out


@pytest.mark.slow
def test_another_number_of_workers_gives_the_same_rows_and_the_trained_model_others(
    scored: Path, model: Path, source: Path, tmp_path: Path
) -> None:
    topk.JOB.run(config(tmp_path / "one", source, f"random:{model}", model_seed=SEED, workers=1))
    topk.JOB.run(config(tmp_path / "trained", source, str(model)))
    for table in ("corpus", "topk", "neurons", "activations"):
        assert pq.read_table(scored / table).equals(pq.read_table(tmp_path / "one" / table)), table
    assert pq.read_table(scored / "corpus").equals(pq.read_table(tmp_path / "trained" / "corpus"))
    assert not pq.read_table(scored / "topk").equals(pq.read_table(tmp_path / "trained" / "topk"))
    ours, trained = (json.loads((out / "run.json").read_text())["model"] for out in (scored, tmp_path / "trained"))
    assert (ours["name"], ours["seed"]) == (f"random:{model}", SEED)
    assert "seed" not in trained
    assert ours["fingerprint"] != trained["fingerprint"]


def test_another_seed_is_refused_by_its_number(scored: Path, model: Path, source: Path) -> None:
    before = (scored / "run.json").read_bytes()
    with pytest.raises(InputError) as error:
        topk.JOB.run(config(scored, source, f"random:{model}", model_seed=4))
    name = f"random:{model}"
    name = name if len(name) <= 60 else f"{name[:40]}..."
    assert f"model (was {name} with --model-seed {SEED}, is {name} with --model-seed 4)" in str(error.value)
    with pytest.raises(InputError, match=f"model \\(was .* with --model-seed {SEED}, is "):
        topk.JOB.run(config(scored, source, str(model)))
    assert (scored / "run.json").read_bytes() == before
    topk.JOB.run(config(scored, source, f"random:{model}", model_seed=SEED))


def test_what_reads_the_run_finds_the_model_that_was_drawn(scored: Path, model: Path, tmp_path: Path) -> None:
    record = Run(str(scored), create=False)
    title = f"{model.name}, random weights (seed {SEED})"
    assert record.title == model_of_topk(record).title == title
    assert model_of_topk(record, f"random:{model}") == model_of_topk(record)
    moved = shutil.copytree(model, tmp_path / "moved")
    assert model_of_topk(record, f"random:{moved}").seed == SEED
    with pytest.raises(InputError, match="is not the model of topk/"):
        model_of_topk(record, str(model))


@pytest.mark.parametrize(
    ("job", "more"),
    [
        ("run", ["--k", "20"]),
        ("mixing", []),
        ("positions", []),
        ("psi", ["--clusters", "12", "--cluster-seeds", "2"]),
        ("meaning", ["--min-count", "2"]),
        ("compare", ["--part", "shift", "--text-set", "docs={source}"]),
    ],
)
def test_every_job_with_a_model_takes_random_weights(
    job: str, more: list[str], scored: Path, model: Path, source: Path, tmp_path: Path, call: Call
) -> None:
    out = scored if job == "compare" else tmp_path / "run"
    words = ["--out", out, *(word.format(source=source) for word in more)]
    words += [] if out == scored else ["--corpus", source, "--split", "none", "--shard-size", 100]
    flag = "--against" if job == "compare" else "--model"
    done = call(job, *words, flag, f"random:{model}", "--model-seed", 5, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "nothing was started" in done.stdout
    refuse(call, job, words, flag, model)


def refuse(call: Call, job: str, words: list[Any], flag: str, model: Path) -> None:
    refused = call(job, *words, flag, model, "--model-seed", 5, "--dry-run")
    assert refused.returncode == 2
    assert "error: --model-seed 5: is the seed of random weights" in refused.stderr.splitlines()[-1]
    for wrong in ("random:", "random:random:x"):
        refused = call(job, *words, flag, wrong, "--dry-run")
        assert refused.returncode == 2
        assert refused.stderr.splitlines()[-1].startswith(f"error: {flag} {wrong}: ")


def test_a_training_from_random_weights_leaves_a_trained_model(
    model: Path, labelled: Path, tmp_path: Path, call: Call
) -> None:
    out = tmp_path / "tuned"
    finetune.JOB.run(finetune_config(out, labelled, f"random:{model}", model_seed=SEED))
    assert Run(str(out), create=False).require("finetune")["model"]["seed"] == SEED
    tuned = read_facts(str(out / "finetune" / "model"))
    assert tuned.seed is None
    assert load_model(tuned, "cpu", "float32").config.num_hidden_layers == 2
    refuse(call, "finetune", ["--out", out, "--label", "topic"], "--model", model)
