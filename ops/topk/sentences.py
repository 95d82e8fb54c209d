"""The tables and counts of sentences that `topk` writes: unscored sentences and the activation sample."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float32s
from ops.errors import InputError, one_line
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons
from ops.topk.partial_file import DAMAGE, SAMPLE_PLACE, SparseRow, read_matrix, read_of_all

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

    def sample(shard: int) -> list[Any]:
        try:
            if sparse:
                table = read_of_all(store, paths[shard], "sample", SAMPLE_PLACE)
                return sparse_rows(table, len(notes[shard]["sampled"]))
            return list(read_matrix(read_of_all(store, paths[shard], "sample"), "sample").T)
        except DAMAGE as error:
            damaged[shard] = one_line(error, 100)
            raise

    def batches() -> Iterator[pa.Table]:
        ids: list[int] = []
        rows: list[Any] = []
        some = [shard for shard, note in enumerate(notes) if note["sampled"]]
        for shard, found in zip(some, side_by_side(sample, some), strict=True):
            ids += notes[shard]["sampled"]
            rows += found
            while len(ids) >= SAMPLE_ROWS or (shard == some[-1] and ids):
                columns = _sparse_columns if sparse else _dense_columns
                layers = [column for a, b in pairwise(starts) for column in columns(rows[:SAMPLE_ROWS], int(a), int(b))]
                yield pa.table([pa.array(ids[:SAMPLE_ROWS], pa.int64()), *layers], schema=layout)
                del ids[:SAMPLE_ROWS], rows[:SAMPLE_ROWS]

    try:
        return write_part(store, "activations", 0, layout, batches(), fingerprint), {}
    except DAMAGE:
        if not damaged:
            raise
        return 0, damaged


def sparse_rows(table: pa.Table, sentences: int) -> list[SparseRow]:
    """Return each sampled sentence's active features, ascending, and their activations.

    Args:
        table: the columns `sample` and `SAMPLE_PLACE` of a shard's file, a row for each feature.
        sentences: number of sampled sentences.
    """
    places, values = table[SAMPLE_PLACE].combine_chunks(), table["sample"].combine_chunks()
    feature = np.repeat(np.arange(len(places), dtype=np.int32), np.diff(places.offsets.to_numpy()))
    place = places.flatten().to_numpy(zero_copy_only=False)
    order = np.argsort(place, kind="stable")
    cuts = np.searchsorted(place[order], np.arange(1, sentences))
    value = values.flatten().to_numpy(zero_copy_only=False)
    return list(zip(np.split(feature[order], cuts), np.split(value[order], cuts), strict=True))[:sentences]


def _dense_columns(rows: list[Float32s], first: int, stop: int) -> list[pa.Array]:
    """Return the column of one layer, whose units have the indices `first` to `stop` - 1."""
    block = np.ascontiguousarray(np.array(rows, np.float32)[:, first:stop])
    return [pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), stop - first)]


def _sparse_columns(rows: list[SparseRow], first: int, stop: int) -> list[pa.Array]:
    """Return the two columns of one layer, whose units have the indices `first` to `stop` - 1."""
    spans = [slice(*np.searchsorted(units, [first, stop])) for units, _ in rows]
    offsets = np.concatenate([[0], np.cumsum([span.stop - span.start for span in spans])]).astype(np.int32)
    units = np.concatenate([own[span] - first for (own, _), span in zip(rows, spans, strict=True)])
    values = np.concatenate([own[span] for (_, own), span in zip(rows, spans, strict=True)])
    return [
        pa.ListArray.from_arrays(offsets, pa.array(units.astype(np.int32))),
        pa.ListArray.from_arrays(offsets, pa.array(values.astype(np.float32))),
    ]


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
