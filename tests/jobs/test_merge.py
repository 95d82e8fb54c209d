"""The merge of topk: how many times it opens the shards' files, and that no table depends on it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from jobs.stage.outputs import Written, shard_file
from jobs.topk.merge import RangeMerger, merged_outputs, range_items, ranges_together
from jobs.topk.score import PILOT_FILE
from ops.reducers.moments import Moments
from ops.storage.store import Store
from ops.topk import partial_file as topk_partial
from ops.topk.neurons import Neurons
from tests.unit.topk.rows_in_memory import rows_of

WIDTHS, BINS, K, SHARDS, EACH = (300, 400), 6, 4, 5, 20
NEURONS = sum(WIDTHS)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The partial files of five shards of 700 neurons, of numbers drawn at random, and their pilot."""
    folder = tmp_path_factory.mktemp("shards")
    store, rng = Store(str(folder)), np.random.default_rng(0)
    edges = np.sort(rng.normal(size=(NEURONS, BINS - 1)).astype(np.float32), 1)
    table = pa.table({"edges": topk_partial.by_neuron(edges)})
    replace(PILOT_FILE, writer=topk_partial.write_table).commit(store, table, "f")
    for shard in range(SHARDS):
        values = rng.normal(size=(NEURONS, EACH)).astype(np.float32)
        moments = Moments(
            EACH, *(values.astype(np.float64).sum(1) ** i for i in (1, 2, 3, 4)), values.min(1), values.max(1)
        )
        ids = np.broadcast_to(np.arange(EACH) + EACH * shard, values.shape)
        ends = np.arange(NEURONS + 1, dtype=np.int32) * EACH
        poles = {"top": tuple(pa.ListArray.from_arrays(ends, pa.array(c.ravel())) for c in (values, ids))}
        counts, none = rng.integers(0, 9, (NEURONS, BINS)), np.zeros((NEURONS, 0), np.float32)
        rows = rows_of(topk_partial.shard_table(poles, moments, counts, none))
        shard_file("topk", shard).commit(store, Written(rows.in_file, rows.write), "f")
    return folder


def merged(folder: Path, shards: Path, together: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, bytes], int]:
    """Merge in a folder of its own; return the tables' files, and how often a shard's file was opened."""
    folder.mkdir()
    (folder / "_partials").symlink_to(shards / "_partials")
    opened, parquet = [], Store.parquet

    def watched(self: Store, name: str) -> Any:
        opened.append(name)
        return parquet(self, name)

    monkeypatch.setattr(Store, "parquet", watched)
    args = {"store": Store(str(folder)), "neurons": Neurons(WIDTHS), "shards": SHARDS, "k": K, "poles": ("top",)}
    args |= {"fingerprint": "f", "largest": np.ones(len(WIDTHS))}
    worker = RangeMerger(**args)
    for item in range_items(NEURONS, together):
        assert worker(item) == {"damaged": {}}
        assert all(output.is_whole(Store(str(folder)), "f") for output in merged_outputs(item))
    files = {f"{p.parent.name}/{p.name}": p.read_bytes() for p in folder.glob("*/part-*.parquet")}
    return files, sum("shard-" in name for name in opened)


def test_one_opening_of_a_file_serves_several_ranges(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    each, opened = merged(tmp_path / "each", shards, 1, monkeypatch)
    some, opened_for_some = merged(tmp_path / "some", shards, 2, monkeypatch)
    every, opened_for_every = merged(tmp_path / "every", shards, 3, monkeypatch)
    assert (opened, opened_for_some, opened_for_every) == (3 * SHARDS, 2 * SHARDS, SHARDS)
    assert len(each) == 6
    assert each == some == every


def test_every_worker_has_something_to_merge_and_none_more_than_its_memory() -> None:
    for ranges in (1, 36, 1_000):
        for workers in (1, 2, 36, 128):
            for k in (1, 100, 10_000, 1_000_000):
                together = ranges_together(ranges, workers, k, 2)
                assert 1 <= together <= max(-(-ranges // workers), 1)
                assert together == 1 or together * 2 * k * 256 * 12 * 3 <= 1 << 30
