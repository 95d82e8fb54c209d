"""The second pass of `topk`: the shards' partial files, one range of neurons after another, become the tables."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from jobs._engine import Item, fan_out
from jobs._partials import partial, pilot_file
from jobs._progress import Progress
from jobs._shards import read_notes
from ops.errors import one_line
from ops.reducers.moments import Moments
from ops.reducers.top_k import EMPTY, TopK, decode_keys
from ops.schema import activations_schema, group_rows, schema
from ops.storage.store import Store, is_whole, shard_footer
from ops.storage.tables import part_name, write_part
from ops.topk.neurons import Neurons
from ops.topk.partial_file import CANDIDATES, by_neuron, ranges, read_keys, read_matrix, read_moments

SAMPLE_ROWS = 512
LITTLE = 1 << 27  # bytes
DAMAGE = (OSError, pa.ArrowException)


def merge_ranges(
    store: Store,
    neurons: Neurons,
    shards: int,
    k: int,
    poles: tuple[str, ...],
    fingerprint: str,
    out: str,
    workers: int,
) -> dict[int, str]:
    """Write topk/ and neurons/, a part for each range of neurons, those that are there already left alone.

    Returns:
        The shards whose partial files are damaged, and what was found; a range that met one is not written.
    """
    every = [{"part": part, "first": first, "stop": stop} for part, first, stop in ranges(len(neurons))]
    todo = [
        item
        for item in every
        if not all(is_whole(store, part_name(t, item["part"]), fingerprint, _name(item)) for t in ("topk", "neurons"))
    ]
    args = {"out": out, "neurons": neurons, "shards": shards, "k": k, "poles": poles, "fingerprint": fingerprint}
    damaged: dict[int, str] = {}
    with Progress("topk: merge", len(every), "ranges of neurons", len(every) - len(todo)) as progress:
        # A pool takes longer to start than so much takes to merge, the activation sample aside.
        sampled = sum(len(read_notes(store, shard)["sampled"]) for shard in range(shards))
        little = store.size("_partials/topk") - 4 * sampled * len(neurons) < LITTLE
        for row in fan_out(todo, RangeMerger, args, workers=workers, here=little):
            damaged |= {int(shard): why for shard, why in row["damaged"].items()}
            progress.add()
    return damaged


def _name(item: Item) -> str:
    return f"neurons-{item['first']}-{item['stop']}"


class RangeMerger:
    """Merges all shards' candidates, moments and histograms of one range of neurons."""

    def __init__(
        self, out: str, neurons: Neurons, shards: int, k: int, poles: tuple[str, ...], fingerprint: str
    ) -> None:
        self.store, self.neurons, self.shards = Store(out), neurons, shards
        self.k, self.poles, self.fingerprint = k, poles, fingerprint
        torch.set_num_threads(1)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Merge one range in the order of the shards, so that rounding is the same in every run."""
        size = item["stop"] - item["first"]
        winners = {p: TopK(size, self.k) for p in self.poles}
        moments, histogram = Moments.empty(size), np.zeros(0)
        damaged: dict[int, str] = {}
        for shard in range(self.shards):
            try:
                with self.store.parquet(partial("topk", shard)) as file:
                    table = file.read_row_group(item["part"], columns=CANDIDATES)
            except DAMAGE as error:
                damaged[shard] = one_line(error, 100)
                continue
            for pole, best in winners.items():
                best.merge_keys(*read_keys(table, pole))
            moments = moments.merge(read_moments(table))
            counts = read_matrix(table, "histogram")
            histogram = histogram + counts if len(histogram) else counts
        if damaged:
            return {"part": item["part"], "damaged": damaged}
        layer, unit = self.neurons.name(np.arange(item["first"], item["stop"]))
        found = {p: _decoded(winners[p].result(), p) for p in self.poles}
        columns = _neuron_columns(moments, found)
        with self.store.parquet(pilot_file()) as file:
            edges = read_matrix(file.read_row_group(item["part"]), "edges")
        columns |= {
            "layer": pa.array(layer),
            "unit": pa.array(unit),
            "histogram_edges": by_neuron(edges),
            "histogram_counts": by_neuron(histogram),
        }
        table = pa.table({n: columns[n] for n in schema("neurons").names})
        self._write("neurons", item, [table], size)
        groups = list(_winner_rows(layer, unit, found))
        self._write("topk", item, groups, sum(g.num_rows for g in groups))
        return {"part": item["part"], "damaged": {}}

    def _write(self, table: str, item: Item, groups: list[pa.Table], rows: int) -> None:
        footer = shard_footer(self.fingerprint, _name(item), rows)
        write_part(self.store, table, item["part"], schema(table), groups, self.fingerprint, footer)


def _decoded(keys: torch.Tensor, pole: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return activations, ids and which slots are filled, each `[neurons, k]`."""
    values, ids = decode_keys(keys)
    values = values if pole == "top" else 0.0 - values
    return values.numpy(), ids.numpy(), (keys != EMPTY).numpy()


def _neuron_columns(
    moments: Moments, found: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> dict[str, pa.Array]:
    size = len(moments.mean)
    columns = {
        "n": pa.array(np.full(size, moments.n)),
        "mean": pa.array(moments.mean),
        "std": pa.array(moments.std),
        "skew": pa.array(moments.skew, from_pandas=True),
        "kurtosis": pa.array(moments.kurtosis, from_pandas=True),
        "min": pa.array(moments.min),
        "max": pa.array(moments.max),
    }
    for pole in ("top", "bottom"):
        threshold, mean = pa.nulls(size, pa.float32()), pa.nulls(size, pa.float64())
        if pole in found:
            values, _, filled = found[pole]
            count = filled.sum(1)
            threshold = pa.array(values[np.arange(size), count - 1])
            mean = pa.array(np.where(filled, values.astype(np.float64), 0).sum(1) / count)
        columns |= {f"{pole}_threshold": threshold, f"{pole}_mean": mean}
    return columns


def _winner_rows(
    layer: np.ndarray, unit: np.ndarray, found: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> Iterator[pa.Table]:
    """Return the winners sorted by layer, unit, pole and rank, as many whole neurons at a time as a row group holds."""
    poles = sorted(found)
    each = sum(f[0].shape[1] for f in found.values())
    step = max(group_rows("topk") // each, 1)
    for start in range(0, len(layer), step):
        rows = slice(start, start + step)
        values, ids, filled = (np.concatenate([found[p][i][rows] for p in poles], 1) for i in range(3))
        rank = np.concatenate([np.arange(1, found[p][0].shape[1] + 1) for p in poles])
        pole = np.concatenate([np.full(found[p][0].shape[1], code) for code, p in enumerate(poles)])
        lengths = filled.sum(1)
        names = pa.DictionaryArray.from_arrays(pa.array(np.broadcast_to(pole, filled.shape)[filled], pa.int8()), poles)
        yield pa.table(
            {
                "layer": np.repeat(layer[rows], lengths),
                "unit": np.repeat(unit[rows], lengths),
                "pole": names.cast(pa.string()),
                "rank": pa.array(np.broadcast_to(rank, filled.shape)[filled], pa.int32()),
                "activation": values[filled],
                "sent_id": ids[filled],
            }
        )


def write_unscored(store: Store, shards: int, fingerprint: str) -> list[int]:
    """Write unscored/ and return its sentences, sorted."""
    rows: list[tuple[int, str]] = []
    for shard in range(shards):
        for reason, ids in read_notes(store, shard)["unscored"].items():
            rows += [(i, reason) for i in ids]
    rows.sort()
    table = pa.table({"sent_id": [i for i, _ in rows], "reason": [r for _, r in rows]}, schema=schema("unscored"))
    write_part(store, "unscored", 0, schema("unscored"), [table], fingerprint)
    return [i for i, _ in rows]


def write_activations(store: Store, neurons: Neurons, shards: int, fingerprint: str) -> tuple[int, dict[int, str]]:
    """Write activations/, sorted by sentence.

    Returns:
        Its number of sentences; the first shard whose partial file is damaged, and what was found: then it is not
        written.
    """
    layout = activations_schema(neurons.widths)
    starts = np.cumsum([0, *neurons.widths])
    damaged: dict[int, str] = {}

    def sample(shard: int) -> np.ndarray:
        try:
            with store.parquet(partial("topk", shard)) as file:
                return read_matrix(file.read(columns=["sample"]), "sample").T
        except DAMAGE as error:
            damaged[shard] = one_line(error, 100)
            raise

    def batches() -> Iterator[pa.Table]:
        ids: list[int] = []
        rows: list[np.ndarray] = []
        for shard in range(shards):
            sampled = read_notes(store, shard)["sampled"]
            if sampled:
                ids += sampled
                rows += list(sample(shard))
            while len(ids) >= SAMPLE_ROWS or (shard == shards - 1 and ids):
                block = np.array(rows[:SAMPLE_ROWS], np.float32)
                layers = [
                    pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(block[:, a:b]).ravel()), int(b - a))
                    for a, b in pairwise(starts)
                ]
                yield pa.table([pa.array(ids[:SAMPLE_ROWS], pa.int64()), *layers], schema=layout)
                del ids[:SAMPLE_ROWS], rows[:SAMPLE_ROWS]

    try:
        return write_part(store, "activations", 0, layout, batches(), fingerprint), {}
    except DAMAGE:
        if not damaged:
            raise
        return 0, damaged
