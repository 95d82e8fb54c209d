"""A run of the job finetune, and the labelled documents that it learns from."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.finetune import job as finetune
from jobs.finetune.job import FinetuneConfig
from tests.jobs.finished_runs.published import published


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    """Documents of two sentences, in turn of topic a and b; a copy of the first but for the case; and unusable ones."""
    rows = [{"text": t, "doc_id": f"d{i // 2}", "topic": "ab"[i // 2 % 2]} for i, t in enumerate(texts[:80])]
    rows += [{"text": t.upper(), "doc_id": "copy", "topic": "a"} for t in texts[:2]]
    rows += [{"text": texts[90 + i], "doc_id": "both", "topic": "ab"[i]} for i in range(2)]
    rows += [{"text": texts[92], "doc_id": "rare", "topic": "c"}, {"text": texts[93], "doc_id": "unlabelled"}]
    path = tmp_path_factory.mktemp("labelled") / "docs.jsonl"
    path.write_text("".join(json.dumps({"one": "x", **row}) + "\n" for row in rows), encoding="utf-8")
    return path


def finetune_config(out: Path, labelled: Path | None, model: Path | str, **options: Any) -> FinetuneConfig:
    """Options of a run from sources, or of one whose corpus is there."""
    values: dict[str, Any] = {"out": str(out), "model": str(model), "workers": 1, "label": "topic"}
    small = {"epochs": 2, "learning_rate": 0.01, "checkpoint_steps": 3}
    ingest = {"corpus": (str(labelled),), "split": "none", "shard_size": 30} if labelled else {}
    return FinetuneConfig.model_validate({**values, **small, **ingest, **options})


@pytest.fixture(scope="session")
def finetune_run(
    labelled: Path, tmp_path_factory: pytest.TempPathFactory, make_model: Callable[..., Path], small_bert: object
) -> tuple[Path, Path]:
    """The job finetune on the small random model, without Ray: its run directory and the model's folder."""
    model = make_model(small_bert)
    out = tmp_path_factory.mktemp("runs") / "finetune"
    finetune.JOB.run(finetune_config(out, labelled, model))
    return published(out), model
