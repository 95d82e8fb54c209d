import weakref
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ops.reducers.moments import Moments
from ops.reducers.top_k import TopK
from ops.storage.store import Store
from ops.topk import partial_file
from ops.topk.neurons import NEURONS_PER_PART, parts
from ops.topk.partial_file import (
    HISTOGRAM,
    MERGED_COLUMNS,
    TOKENS_ACTIVE,
    ShardRows,
    of_all_table,
    pack_counts,
    read_counts,
    read_keys,
    read_matrix,
    read_moments,
    read_of_all,
    shard_table,
    winners_in_shard,
)
from tests.unit.topk.rows_in_memory import rows_of, table_of

NEURONS = NEURONS_PER_PART + 5
# Of what is no sparse feature, and without winners within data sets.
OWN = [name for name in MERGED_COLUMNS if name not in (HISTOGRAM, TOKENS_ACTIVE) and "dataset" not in name]
RNG = np.random.default_rng(0)
VALUES = torch.from_numpy(RNG.normal(size=(40, NEURONS)).astype(np.float32))
IDS = torch.arange(100, 140)
COUNTS = RNG.integers(0, 9, (NEURONS, 16))
COUNTS[-1, -1] = 70_000  # the last part alone needs four bytes
SAMPLE = VALUES[:3].numpy().T


def winners(values: torch.Tensor, k: int = 7) -> torch.Tensor:
    reducer = TopK(NEURONS, k)
    reducer.update(values, IDS)
    return reducer.result()


@pytest.mark.parametrize(("largest", "size"), [(65_535, 2), (65_536, 4), (2**32 - 1, 4), (2**32, 8)])
def test_counts_take_as_few_bytes_as_hold_the_largest(tmp_path: Path, largest: int, size: int) -> None:
    counts = np.array([[0, 1, 2], [3, largest, 5]])
    assert pack_counts(counts)[1] == size
    table = shard_table({}, Moments.empty(2), counts, np.zeros((2, 0), np.float32))
    pq.write_table(table, tmp_path / "p")
    for found in (table, table.slice(1), pq.read_table(tmp_path / "p", columns=[HISTOGRAM])):
        assert read_counts(found).tolist() == counts[-found.num_rows :].tolist()
        assert read_counts(found).itemsize == size


@pytest.mark.parametrize(("sampled", "poles"), [(3, ("top", "bottom")), (0, ("bottom",))])
def test_a_file_gives_back_what_it_was_made_of(tmp_path: Path, sampled: int, poles: tuple[str, ...]) -> None:
    keys = {"top": winners(VALUES), "bottom": winners(-VALUES)}
    columns = {}
    for pole in poles:
        activations, sent_ids = winners_in_shard(keys[pole], 0, 1000)
        if pole == "bottom":
            activations = pa.ListArray.from_arrays(
                activations.offsets, pa.array(-activations.flatten().to_numpy(zero_copy_only=False))
            )
        columns[pole] = (activations, sent_ids)
    moments = Moments.of(VALUES)
    histogram = RNG.integers(0, 9, (NEURONS, 16))
    sample = VALUES[:sampled].numpy().T
    path = str(tmp_path / "part.parquet")
    rows = rows_of(shard_table(columns, moments, histogram, sample))
    rows.write(path, {b"mine": b"1"})
    with pq.ParquetFile(path) as file:
        winning = [f"{pole}_{name}" for pole in poles for name in ("activation", "sent_id")]
        assert file.schema_arrow.names == [*winning, *OWN[4:], HISTOGRAM, "sample"]
        assert file.schema_arrow.metadata[b"mine"] == b"1"
        assert file.num_row_groups == 3
        assert file.metadata.num_rows == rows.in_file
        groups = [file.read_row_group(i) for i in range(2)]
        last = file.read_row_group(2)
        assert {last[name].null_count for name in OWN if name in last.column_names} == {NEURONS}
    store = Store(str(tmp_path))
    np.testing.assert_array_equal(read_counts(read_of_all(store, "part.parquet", HISTOGRAM)), histogram)
    found_sample = read_matrix(read_of_all(store, "part.parquet", "sample"), "sample")
    np.testing.assert_array_equal(found_sample, sample)
    assert found_sample.shape == (NEURONS, sampled)
    for (group, first, stop), table in zip(parts(NEURONS), groups, strict=True):
        assert table.num_rows == stop - first == (NEURONS_PER_PART, 5)[group]
        for pole in poles:
            reducer = TopK(stop - first, 7)
            reducer.merge_keys(*read_keys(table, pole))
            assert torch.equal(reducer.result(), keys[pole][first:stop])
        found = read_moments(table)
        assert found.n == 40
        for name in ("mean", "m2", "m3", "m4", "min", "max"):
            np.testing.assert_array_equal(getattr(found, name), getattr(moments, name)[first:stop])
        np.testing.assert_array_equal(read_counts(table), histogram[first:stop])
        assert table["sample"].null_count == stop - first


def test_rows_that_are_made_part_by_part_are_the_same_file_as_the_whole_table(tmp_path: Path) -> None:
    whole = shard_table({"top": winners_in_shard(winners(VALUES), 0, 1000)}, Moments.of(VALUES), COUNTS, SAMPLE)

    def make(first: int, stop: int) -> pa.Table:
        own = slice(first, stop)
        top = winners_in_shard(winners(VALUES)[own], 0, 1000)
        return shard_table({"top": top}, Moments.of(VALUES).of_neurons(first, stop), COUNTS[own], SAMPLE[own], 70_000)

    def of_all(first: int, stop: int) -> pa.Table:
        return of_all_table(COUNTS[first:stop], SAMPLE[first:stop], 70_000)

    rows = ShardRows(NEURONS, make, of_all)
    rows_of(whole).write(str(tmp_path / "whole"), {b"mine": b"1"})
    rows.write(str(tmp_path / "parts"), {b"mine": b"1"})
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert table_of(rows).equals(whole)


def test_at_most_two_parts_are_in_memory_while_rows_are_written(tmp_path: Path) -> None:
    made: list[weakref.ref[pa.Table]] = []

    def of_all(first: int, stop: int) -> pa.Table:
        return of_all_table(np.zeros((stop - first, 2), np.int64), np.zeros((stop - first, 0), np.float32))

    def make(first: int, stop: int) -> pa.Table:
        assert sum(ref() is not None for ref in made) < 2  # the one before may still be the writer's
        counts, none = np.zeros((stop - first, 2), np.int64), np.zeros((stop - first, 0), np.float32)
        table = shard_table({}, Moments.empty(stop - first), counts, none)
        made.append(weakref.ref(table))
        return table

    ShardRows(6 * NEURONS_PER_PART, make, of_all).write(str(tmp_path / "parts"), {})
    assert pq.read_metadata(tmp_path / "parts").num_row_groups == 6 + 1


def test_a_large_sample_is_cut_into_row_groups_that_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial_file, "_OF_ALL_BYTES", 15_000)
    rows_of(shard_table({}, Moments.of(VALUES), COUNTS, SAMPLE)).write(str(tmp_path / "p"), {})
    assert pq.read_metadata(tmp_path / "p").num_row_groups == 2 + 2
    store = Store(str(tmp_path))
    np.testing.assert_array_equal(read_counts(read_of_all(store, "p", HISTOGRAM)), COUNTS)
    np.testing.assert_array_equal(read_matrix(read_of_all(store, "p", "sample"), "sample"), SAMPLE)
