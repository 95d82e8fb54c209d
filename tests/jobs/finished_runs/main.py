"""The main job on a few hundred docstring sentences: on the packaged model, and on a small random one."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.run import job as run_job
from jobs.run.job import RunConfig
from ops.corpus.split_sentences import SentenceSplitter
from ops.sources.docstrings import read_pydocs
from ops.sources.rows import Row
from tests.jobs.finished_runs.published import published

SENTENCES = 360
K, K_PER_DATASET = 40, 10


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Real sentences of mixed length, one of them far over the model's limit."""
    splitter = SentenceSplitter()
    rows = [row for row in read_pydocs("stdlib:0") if isinstance(row, Row)]
    found = dict.fromkeys(" ".join(s.split()) for row in rows for s in splitter.split(row.text) if len(s) > 12)
    chosen = list(found)[:: len(found) // SENTENCES][: SENTENCES - 1]
    return [*chosen, " ".join(list(found)[:60])]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    path = tmp_path_factory.mktemp("source") / "docs.jsonl"
    lines = [{"text": t, "topic": f"t{i % 3}", "doc_id": f"d{i // 5}", "n": i % 4} for i, t in enumerate(texts)]
    lines += [lines[7], lines[7], {"text": "  "}, {"text": "Hm"}, {"text": None}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def config(out: Path | str, source: Path, **options: object) -> RunConfig:
    values = {"out": str(out), "corpus": (str(source),), "split": "none", "k": K, "shard_size": 100, "workers": 2}
    less = {"activation_sample": 50, "k_per_dataset": K_PER_DATASET, "no_tokens": True, "no_explain": True}
    return RunConfig.model_validate({**values, **less, **options})


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, source: Path) -> Path:
    out = tmp_path_factory.mktemp("runs") / "a"
    run_job.JOB.run(config(out, source, no_scores=True))
    return published(out)


@pytest.fixture(scope="session")
def small_run(
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> tuple[Path, Path]:
    """The main job on a small random model: its run directory and the model's folder."""
    model = make_model(small_bert)
    out = tmp_path_factory.mktemp("runs") / "small"
    run_job.JOB.run(config(out, source, model=str(model), no_tokens=False, null_sets=6))
    return published(out), model
