"""A corpus of a few shards scored by a small model, which the tests of faults run with and without faults."""

from pathlib import Path

import pyarrow.parquet as pq

from jobs.topk import job as topk
from jobs.topk.job import TopkConfig

SHARDS, SIZE = 12, 30
TABLES = ("corpus", "rejects", "topk", "topk_by_dataset", "neurons", "activations", "unscored")


def options(out: Path, source: Path, model: Path, **more: object) -> dict[str, object]:
    given = {"out": str(out), "corpus": [str(source)], "split": "none", "model": str(model), "k": 25, "workers": 2}
    return {**given, "shard_size": SIZE, "activation_sample": 40, "k_per_dataset": 9, **more}


def score(out: Path, source: Path, model: Path, **more: object) -> Path:
    topk.JOB.run(TopkConfig.model_validate(options(out, source, model, **more)))
    return out


def assert_same(out: Path, sound: Path) -> None:
    """Find that the tables of two runs are the same."""
    for table in TABLES:
        assert pq.read_table(out / table).equals(pq.read_table(sound / table)), table
