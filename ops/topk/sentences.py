"""What `topk` says of sentences: those that could not be scored, those of the activation sample, and their counts."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ops.errors import InputError, one_line
from ops.schema import activations_schema, schema
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons
from ops.topk.partial_file import DAMAGE, read_matrix, read_of_all

SAMPLE_ROWS = 512
# What the partial files of all shards say besides their tables, in the shards' order: `unscored` ids by reason, and
# `sampled` ids.
Notes = list[dict[str, Any]]


def write_unscored(store: Store, notes: Notes, fingerprint: str) -> list[int]:
    """Write unscored/ and return its sentences, sorted; `notes` are those of all shards, in their order."""
    rows: list[tuple[int, str]] = []
    for note in notes:
        for reason, ids in note["unscored"].items():
            rows += [(i, reason) for i in ids]
    rows.sort()
    table = pa.table({"sent_id": [i for i, _ in rows], "reason": [r for _, r in rows]}, schema=schema("unscored"))
    write_part(store, "unscored", 0, schema("unscored"), [table], fingerprint)
    return [i for i, _ in rows]


def write_activations(
    store: Store, neurons: Neurons, paths: Sequence[str], notes: Notes, fingerprint: str
) -> tuple[int, dict[int, str]]:
    """Write activations/, sorted by sentence.

    Args:
        store: the run's folder.
        neurons: all of the model.
        paths, notes: the partial files of all shards in their order, and their notes.
        fingerprint: the stage's.

    Returns:
        Its number of sentences; the first shard whose partial file is damaged, and what was found: then it is not
        written.
    """
    layout = activations_schema(neurons.by_layer)
    starts = np.cumsum([0, *neurons.by_layer.values()])
    damaged: dict[int, str] = {}

    def sample(shard: int) -> np.ndarray:
        try:
            return read_matrix(read_of_all(store, paths[shard], "sample"), "sample").T
        except DAMAGE as error:
            damaged[shard] = one_line(error, 100)
            raise

    def batches() -> Iterator[pa.Table]:
        ids: list[int] = []
        rows: list[np.ndarray] = []
        some = [shard for shard, note in enumerate(notes) if note["sampled"]]
        for shard, found in zip(some, side_by_side(sample, some), strict=True):
            ids += notes[shard]["sampled"]
            rows += list(found)
            while len(ids) >= SAMPLE_ROWS or (shard == some[-1] and ids):
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
