"""The tables and counts of sentences that `topk` writes: unscored sentences and the activation sample."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, issparse, vstack

from ops import schema
from ops.arrays import Float32s
from ops.errors import InputError, one_line
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons
from ops.topk.partial_file import DAMAGE, SAMPLE_PLACE, list_columns, read_matrix, read_of_all

SAMPLE_ROWS = 512
# The notes in the partial files of all shards, in the order of the shards: `unscored` ids by reason, and `sampled` ids.
Notes = list[dict[str, Any]]


def write_unscored(store: Store, notes: Notes, fingerprint: str) -> list[int]:
    """Write unscored/ and return its sentences, sorted; `notes` are the notes of all shards in order."""
    rows = [
        {"sent_id": number, "reason": reason}
        for note in notes
        for reason, numbers in note["unscored"].items()
        for number in numbers
    ]
    unscored = schema.table("unscored", rows)
    write_part(store, "unscored", 0, unscored.schema, [unscored], fingerprint)
    return list(unscored["sent_id"].to_pylist())


def write_activations(
    store: Store, neurons: Neurons, paths: Sequence[str], notes: Notes, fingerprint: str, sparse: bool = False
) -> tuple[int, dict[int, str]]:
    """Write activations/, sorted by sentence.

    Args:
        store: the run's folder.
        neurons: all neurons of the model.
        paths, notes: the partial files of all shards in order, and their notes.
        fingerprint: the fingerprint of the stage.
        sparse: whether units are sparse features; then only active features are stored.

    Returns:
        The number of sentences written, and the damage of any partial file that could not be read, by shard. If a
        file is damaged, nothing is written and the number is 0.
    """
    layout = schema.activations_schema(neurons.by_layer, sparse)
    starts = np.cumsum([0, *neurons.by_layer.values()])
    damaged: dict[int, str] = {}

    def sample(shard: int) -> Float32s | csr_array:
        try:
            columns = ("sample", SAMPLE_PLACE) if sparse else ("sample",)
            return read_sample(read_of_all(store, paths[shard], *columns), len(notes[shard]["sampled"]))
        except DAMAGE as error:
            damaged[shard] = one_line(error, 100)
            raise

    def batches() -> Iterator[pa.Table]:
        ids: list[int] = []
        waiting: list[Any] = []  # the activations of `ids`
        some = [shard for shard, note in enumerate(notes) if note["sampled"]]
        for shard, activations in zip(some, side_by_side(sample, some), strict=True):
            ids += notes[shard]["sampled"]
            rows: Any = (vstack if sparse else np.concatenate)([*waiting, activations])
            while len(ids) >= SAMPLE_ROWS or (shard == some[-1] and ids):
                block, rows = rows[:SAMPLE_ROWS], rows[SAMPLE_ROWS:]
                layers = [column for a, b in pairwise(starts) for column in _columns(block[:, a:b])]
                yield pa.table([pa.array(ids[:SAMPLE_ROWS], pa.int64()), *layers], schema=layout)
                del ids[:SAMPLE_ROWS]
            waiting = [rows]

    try:
        return write_part(store, "activations", 0, layout, batches(), fingerprint), {}
    except DAMAGE:
        if not damaged:
            raise
        return 0, damaged


def read_sample(table: pa.Table, sentences: int) -> Float32s | csr_array:
    """Return the sampled sentences' activations, `[sentences, neurons]`; sparse if units are features.

    Args:
        table: the columns `sample` and, for features, `SAMPLE_PLACE` of a shard's file, a row for each neuron.
        sentences: number of sampled sentences.
    """
    if SAMPLE_PLACE not in table.column_names:
        return read_matrix(table, "sample").T
    places, values = (table[name].combine_chunks() for name in (SAMPLE_PLACE, "sample"))
    offsets = np.append(0, np.cumsum(places.value_lengths().to_numpy()))
    data, place = (column.flatten().to_numpy(zero_copy_only=False) for column in (values, places))
    return csr_array((data, place, offsets), shape=(len(table), sentences)).T.tocsr()


def _columns(block: Float32s | csr_array) -> list[pa.Array]:
    """Return the columns of one layer's activations, `[sentences, units]`."""
    if issparse(block):
        return list_columns(block)[::-1]
    return [pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(block).ravel()), block.shape[1])]


def account(corpus: dict[str, Any], unscored: list[int]) -> dict[str, Any]:
    """Return the number of scored and unscored sentences, in total and for every source.

    Raises:
        InputError: no sentence could be scored.
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
