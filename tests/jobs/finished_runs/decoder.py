"""Runs of a small decoder: the jobs positions, topk and outputs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import GPT2Config

from jobs.outputs import job as outputs
from jobs.outputs.job import OutputsConfig
from jobs.positions import job as positions
from jobs.positions.job import PositionsConfig
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from tests.jobs.finished_runs.published import published


@pytest.fixture(scope="session")
def small_gpt2() -> GPT2Config:
    """A GPT-2 of 2 layers of 12 units that takes 40 positions."""
    sizes = {"n_embd": 12, "n_layer": 2, "n_head": 2, "n_inner": 20, "n_positions": 40, "vocab_size": 30522}
    return GPT2Config(**sizes, bos_token_id=101, eos_token_id=102)


def positions_config(out: Path, source: Path, model: Path, **options: Any) -> PositionsConfig:
    values = {"out": str(out), "corpus": (str(source),), "model": str(model), "split": "none", "shard_size": 20}
    return PositionsConfig.model_validate(
        {**values, "workers": 2, "token_budget": 512, "label": "topic", "limit": 160, **options}
    )


@pytest.fixture(scope="session")
def positions_run(
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_gpt2: GPT2Config,
) -> tuple[Path, Path]:
    """The job positions on a small random decoder by two workers: its run directory, partials kept, and the model."""
    model = make_model(small_gpt2)
    out = tmp_path_factory.mktemp("runs") / "positions"
    positions.JOB.run(positions_config(out, source, model, keep_partials=True))
    return published(out), model


def outputs_config(out: Path, **options: Any) -> OutputsConfig:
    small = {"workers": 2, "sentences": 120, "random": 40, "check": 6, "check_sentences": 10, "token_budget": 256}
    return OutputsConfig.model_validate({"out": str(out), **small, **options})


@pytest.fixture(scope="session")
def scored_gpt2(
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_gpt2: GPT2Config,
) -> tuple[Path, Path]:
    """The job topk on the feed-forward units of a small random decoder: its run directory and the model's folder."""
    model = make_model(small_gpt2, change=lambda own: [w.normal_(std=0.3) for w in own.parameters()])
    out = tmp_path_factory.mktemp("runs") / "scored_gpt2"
    options = {"out": str(out), "corpus": (str(source),), "model": str(model), "site": "mlp", "split": "none"}
    small = {"k": 10, "shard_size": 100, "activation_sample": 20, "workers": 2}
    topk.JOB.run(TopkConfig.model_validate({**options, **small}))
    return published(out), model


@pytest.fixture(scope="session")
def outputs_run(scored_gpt2: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The job outputs on a copy of that run by two workers: the run directory, partials kept, and the model."""
    out = tmp_path_factory.mktemp("runs") / "outputs"
    shutil.copytree(scored_gpt2[0], out)
    outputs.JOB.run(outputs_config(out, keep_partials=True))
    return published(out), scored_gpt2[1]
