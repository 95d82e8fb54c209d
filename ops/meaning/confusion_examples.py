"""The examples of confusion sets in each shard, with the surrounding words and the model's state at the blank."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.meaning.blank_states import BlankReader
from ops.meaning.confusion import (
    Examples,
    Occurrence,
    document_number,
    find_occurrences,
    is_tested,
    priority,
    words_around,
)

COLUMNS = ["sent_id", "text", "dataset", "doc_id"]  # of corpus/
Sets = tuple[tuple[str, ...], ...]


class Quota(NamedTuple):
    """The maximum numbers of a set's examples and of its examples with states, and the corpus's number of sentences."""

    most: int
    stated: int
    sentences: int

    def of(self, most: int, sentences: int) -> int:
        """Return the part of `most` for a shard with this number of sentences, rounded up."""
        return -(-most * sentences // self.sentences)


def places_of(sets: Sets) -> dict[str, tuple[int, int]]:
    """Return for each word the index of its set and its index in this set."""
    return {word: (i, j) for i, words in enumerate(sets) for j, word in enumerate(words)}


def find_examples(
    table: pa.Table, sets: Sets, reader: BlankReader, quota: Quota, window: int, seed: int
) -> tuple[pa.Table, dict[str, Any]]:
    """Find the sets' words in a shard, and read the model's states at their positions after blanking them.

    Args:
        table: the shard, with `COLUMNS`.
        sets: the confusion sets.
        reader: the model.
        quota: the number of examples that are kept.
        window: number of words on each side that are features.
        seed: the run's seed.

    Returns:
        A table with one row for each example that is kept: `set`, `label`, `order`, `document` (the document's number),
        `tested`, `words`, and `state` (all layers concatenated; null without a state). And a dictionary with the number
        of occurrences `found` for each set, and the number of states that were `not_finite`.
    """
    ids, texts, datasets, documents = (column.to_pylist() for column in table.select(COLUMNS).columns)
    places = places_of(sets)
    found = [(row, o) for row, text in enumerate(texts) for o in find_occurrences(text, places)]
    order = priority(np.array([ids[row] for row, _ in found], np.int64), _starts(found), seed)
    ranked = [int(i) for i in np.lexsort((_starts(found), order))]
    kept: list[int] = []
    stated: list[int] = []
    for i in range(len(sets)):
        own = [k for k in ranked if found[k][1].set == i]
        kept += own[: quota.of(quota.most, len(texts))]
        stated += own[: quota.of(quota.stated, len(texts))]
    spans = [(found[k][1].start, found[k][1].stop) for k in stated]
    blanks = reader.blanks([texts[found[k][0]] for k in stated], spans)
    there = [(k, blank) for k, blank in zip(stated, blanks, strict=True) if blank is not None]
    states = reader.read([blank for _, blank in there]).reshape(len(there), reader.layers * reader.width)
    good = np.asarray(np.isfinite(states).all(1))
    by_place = {k: state for (k, _), state, fine in zip(there, states, good, strict=True) if fine}
    chosen = [found[k] for k in kept]
    documents_of = [document_number(datasets[row], documents[row], seed) for row, _ in chosen]
    columns = {
        "set": pa.array([o.set for _, o in chosen], pa.int32()),
        "label": pa.array([o.label for _, o in chosen], pa.int32()),
        "order": pa.array(order[kept] if kept else [], pa.uint64()),
        "document": pa.array(documents_of, pa.uint64()),
        "tested": pa.array([is_tested(document) for document in documents_of], pa.bool_()),
        "words": pa.array([words_around(texts[r], o.start, o.stop, window) for r, o in chosen], pa.list_(pa.string())),
        "state": pa.array([by_place.get(k) for k in kept], pa.list_(pa.float32())),
    }
    counts = np.bincount([o.set for _, o in found], minlength=len(sets)).tolist()
    return pa.table(columns), {"found": counts, "not_finite": int((~good).sum())}


def _starts(found: list[tuple[int, Occurrence]]) -> Int64s:
    return np.array([o.start for _, o in found], np.int64)


def examples_of(number: int, shards: Iterable[pa.Table], layers: int, width: int) -> Examples:
    """Return the examples of a set in their seeded order.

    Args:
        number: the index of the set.
        shards: the tables of `find_examples` for each shard, in the order of the shards.
        layers, width: the model's number of layers and width.
    """
    table = pa.concat_tables(table.filter(pc.equal(table["set"], number)) for table in shards).combine_chunks()
    # The shards are in order, so with a stable sort ties stay in the order of the corpus.
    table = table.take(pa.array(np.argsort(table["order"].to_numpy(), kind="stable")))
    states = np.array([s for s in table["state"].to_pylist() if s is not None], np.float32)
    return Examples(
        table["label"].to_numpy(), table["tested"].to_numpy(), table["words"].to_pylist(),
        states.reshape(-1, layers, width), table["state"].is_valid().to_numpy(), table["document"].to_numpy(),
    )  # fmt: skip
