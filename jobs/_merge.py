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
from ops.reducers.top_k import TopK
from ops.schema import activations_schema, schema
from ops.storage.store import Store, is_whole, shard_footer
from ops.storage.tables import part_name, write_part
from ops.topk.neurons import Neurons, parts
from ops.topk.partial_file import MERGED_COLUMNS, read_keys, read_matrix, read_moments
from ops.topk.tables import decode_winners, neuron_rows, winner_rows

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
    every = [{"part": part, "first": first, "stop": stop} for part, first, stop in parts(len(neurons))]
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
    """Merges all shards' winners so far, moments and histograms of one range of neurons."""

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
        moments, histogram = Moments.empty(size), np.zeros(0, np.int64)
        damaged: dict[int, str] = {}
        for shard in range(self.shards):
            try:
                with self.store.parquet(partial("topk", shard)) as file:
                    table = file.read_row_group(item["part"], columns=MERGED_COLUMNS)
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
        layer, unit = self.neurons.layer_and_unit(np.arange(item["first"], item["stop"]))
        found = {p: decode_winners(winners[p].result(), p) for p in self.poles}
        with self.store.parquet(pilot_file()) as file:
            edges = read_matrix(file.read_row_group(item["part"]), "edges")
        table = neuron_rows(layer, unit, moments, found, edges, histogram)
        self._write("neurons", item, [table], size)
        groups = list(winner_rows(layer, unit, found))
        self._write("topk", item, groups, sum(g.num_rows for g in groups))
        return {"part": item["part"], "damaged": {}}

    def _write(self, table: str, item: Item, groups: list[pa.Table], rows: int) -> None:
        footer = shard_footer(self.fingerprint, _name(item), rows)
        write_part(self.store, table, item["part"], schema(table), groups, self.fingerprint, footer)


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
