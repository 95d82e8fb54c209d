"""Unscored sentences, the activation sample and the counts, from the partial files of some shards."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from ops.errors import InputError
from ops.reducers.moments import Moments
from ops.storage.store import Store
from ops.topk.neurons import Neurons
from ops.topk.partial_file import shard_table
from ops.topk.sentences import SAMPLE_ROWS, account, write_activations, write_unscored
from tests.unit.topk.rows_in_memory import rows_of

NEURONS = Neurons((2, 3))
PATHS = [f"partial/shard-{shard:05d}.parquet" for shard in range(3)]
SAMPLED = [list(range(400)), [], list(range(1_000, 1_300))]


def source(name: str, first: int, kept: int) -> dict[str, Any]:
    return {"source": name, "dataset": name, "first_sent_id": first, "kept": kept, "rejected": 1}


def test_unscored_sentences_are_sorted_and_keep_their_reason(tmp_path: Path) -> None:
    notes = [{"unscored": {"nan": [7, 3]}}, {"unscored": {"inf": [11], "nan": [12]}}, {"unscored": {}}]
    assert write_unscored(Store(str(tmp_path)), notes, "f") == [3, 7, 11, 12]
    rows = pq.read_table(tmp_path / "unscored").to_pylist()
    assert [(row["sent_id"], row["reason"]) for row in rows] == [(3, "nan"), (7, "nan"), (11, "inf"), (12, "nan")]


@pytest.fixture
def shards(tmp_path: Path) -> tuple[Store, dict[int, list[float]]]:
    """Partial files of three shards, one without sampled sentences, and each sampled sentence's activations."""
    store, rng, known = Store(str(tmp_path)), np.random.default_rng(0), {}
    for path, ids in zip(PATHS, SAMPLED, strict=True):
        values = rng.normal(size=(len(NEURONS), len(ids))).astype(np.float32)
        known |= dict(zip(ids, values.T.tolist(), strict=True))
        table = shard_table({}, Moments.empty(len(NEURONS)), np.zeros((len(NEURONS), 2), np.int64), values)
        store.commit(path, partial(rows_of(table).write, footer={}))
    return store, known


def test_the_activation_sample_is_sorted_by_sentence_a_column_for_each_layer(
    tmp_path: Path, shards: tuple[Store, dict[int, list[float]]]
) -> None:
    store, known = shards
    notes = [{"sampled": ids} for ids in SAMPLED]
    assert write_activations(store, NEURONS, PATHS, notes, "f") == (700, {})
    with pq.ParquetFile(tmp_path / "activations" / "part-00000.parquet") as file:
        assert [file.metadata.row_group(i).num_rows for i in range(2)] == [SAMPLE_ROWS, 700 - SAMPLE_ROWS]
        rows = file.read().to_pylist()
    assert [row["sent_id"] for row in rows] == [i for ids in SAMPLED for i in ids]
    assert all(row["layer_1"] + row["layer_2"] == known[row["sent_id"]] for row in rows)


def test_a_damaged_shard_is_named_and_no_sample_written(
    tmp_path: Path, shards: tuple[Store, dict[int, list[float]]]
) -> None:
    damaged = tmp_path / PATHS[2]
    damaged.write_bytes(damaged.read_bytes()[:-20])
    rows, found = write_activations(shards[0], NEURONS, PATHS, [{"sampled": ids} for ids in SAMPLED], "f")
    assert (rows, list(found)) == (0, [2])
    assert not list(tmp_path.glob("activations/part-*"))


def test_every_source_is_counted() -> None:
    corpus = {"sentences": 30, "sources": [source("a", 0, 10), source("b", 10, 20)]}
    found = account(corpus, [3, 9, 10])
    assert (found["scored"], found["unscored"]) == (27, 3)
    assert [(s["source"], s["scored"], s["unscored"]) for s in found["sources"]] == [("a", 8, 2), ("b", 19, 1)]


def test_a_model_that_scores_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="gave no finite activation for any sentence"):
        account({"sentences": 2, "sources": [source("a", 0, 2)]}, [0, 1])
