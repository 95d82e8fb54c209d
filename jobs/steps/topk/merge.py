"""The second pass of `topk`: the shards' partial files, one range of neurons after another, become the tables."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.layout import Output, pilot_file, shard_file, table_part
from jobs.stage.stages import STAGES
from jobs.stage.step import Step
from jobs.steps.topk.score import read_notes
from ops.errors import InputError, one_line
from ops.reducers.moments import Moments
from ops.reducers.top_k import TopK
from ops.schema import activations_schema, schema
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons, parts
from ops.topk.partial_file import MERGED_COLUMNS, read_keys, read_matrix, read_moments
from ops.topk.tables import decode_winners, neuron_rows, winner_rows

SAMPLE_ROWS = 512
LITTLE = 1 << 27  # bytes
DAMAGE = (OSError, pa.ArrowException)


def merge_ranges(job: CorpusPass, neurons: Neurons, k: int, poles: tuple[str, ...]) -> dict[int, str]:
    """Write topk/ and neurons/, a part for each range of neurons, those that are there already left alone.

    Returns:
        The shards whose partial files are damaged, and what was found; a range that met one is not written.
    """
    store, shards = job.stage.store, len(job.shards)
    args = {
        "store": store, "neurons": neurons, "shards": shards, "k": k, "poles": poles,
        "fingerprint": job.stage.fingerprint,
    }  # fmt: skip
    # A pool takes longer to start than so much takes to merge, the activation sample aside.
    sampled = sum(len(read_notes(store, shard)["sampled"]) for shard in range(shards))
    little = store.size(STAGES["topk"].partials) - 4 * sampled * len(neurons) < LITTLE
    damaged: dict[int, str] = {}
    for row in job.stage.do(merge_step(len(neurons), args, little)):
        damaged |= {int(shard): why for shard, why in row["damaged"].items()}
    return damaged


def merge_step(neurons: int, args: Item, here: bool = False) -> Step:
    """Return the step that merges so many neurons; `args` as `RangeMerger` takes them."""
    items = [{"part": part, "first": first, "stop": stop} for part, first, stop in parts(neurons)]
    return Step("topk: merge", items, merged_outputs, RangeMerger, args, "ranges of neurons", here=here)


def merged_outputs(item: Item) -> list[Output]:
    """Return the parts of a range of neurons."""
    name = f"neurons-{item['first']}-{item['stop']}"
    return [table_part(table, item["part"], name) for table in ("neurons", "topk")]


class RangeMerger:
    """Merges all shards' winners so far, moments and histograms of one range of neurons."""

    def __init__(
        self, store: Store, neurons: Neurons, shards: int, k: int, poles: tuple[str, ...], fingerprint: str
    ) -> None:
        self.store, self.neurons, self.shards = store, neurons, shards
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
                with self.store.parquet(shard_file("topk", shard).path) as file:
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
        with self.store.parquet(pilot_file().path) as file:
            edges = read_matrix(file.read_row_group(item["part"]), "edges")
        table = neuron_rows(layer, unit, moments, found, edges, histogram)
        written = {"neurons": [table], "topk": list(winner_rows(layer, unit, found))}
        for (name, groups), output in zip(written.items(), merged_outputs(item), strict=True):
            footer = output.footer(self.fingerprint, sum(g.num_rows for g in groups))
            write_part(self.store, name, item["part"], schema(name), groups, self.fingerprint, footer)
        return {"part": item["part"], "damaged": {}}


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
            with store.parquet(shard_file("topk", shard).path) as file:
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


def account(corpus: dict[str, Any], unscored: list[int]) -> dict[str, Any]:
    """Count scored and unscored sentences of every source.

    Raises:
        InputError: not one sentence could be scored.
    """
    if len(unscored) == corpus["sentences"]:
        raise InputError("--model: gave no finite activation for any sentence; try --dtype float32, or another model")
    sources = []
    for source in corpus["sources"]:
        first, stop = source["first_sent_id"], source["first_sent_id"] + source["kept"]
        lost = int(np.searchsorted(unscored, stop) - np.searchsorted(unscored, first))
        names = {n: source[n] for n in ("source", "dataset", "kept")}
        sources.append({**names, "scored": source["kept"] - lost, "unscored": lost})
    return {"scored": corpus["sentences"] - len(unscored), "unscored": len(unscored), "sources": sources}
