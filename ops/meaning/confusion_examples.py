"""The examples of confusion sets in each shard, with the surrounding words and the model's state at the blank."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.meaning.blank_states import BlankReader
from ops.meaning.confusion import Examples, document_number, find_occurrences, priority, words_around

COLUMNS = ["sent_id", "text", "dataset", "doc_id"]  # of corpus/
Sets = tuple[tuple[str, ...], ...]


def find_examples(
    table: pa.Table, sets: Sets, reader: BlankReader, most: int, most_states: int, window: int, seed: int
) -> tuple[pa.Table, dict[str, Any]]:
    """Find the sets' words in a shard, and read the model's states at their positions after blanking them.

    Args:
        table: the shard, with `COLUMNS`.
        sets: the confusion sets.
        reader: the model.
        most, most_states: the maximum number of a set's examples in the shard, and of its examples with states.
        window: number of words on each side that are features.
        seed: the run's seed.

    Returns:
        A table with one row for each example that is kept: `set`, `label`, `order`, `document` (the document's number),
        `words`, and `state` (all layers concatenated; null without a state). And a dictionary with the number of
        occurrences `found` for each set, and the number of states that were `not_finite`.
    """
    ids, texts, datasets, documents = (column.to_pylist() for column in table.select(COLUMNS).columns)
    places = {word: (i, j) for i, words in enumerate(sets) for j, word in enumerate(words)}
    occurrences = [(row, *own) for row, text in enumerate(texts) for own in find_occurrences(text, places)]
    row, number, label, start, stop = np.array(occurrences, np.int64).reshape(-1, 5).T
    order = priority(np.array(ids, np.int64)[row], start, seed)
    ranked = np.lexsort((start, order, number))
    rank = np.arange(len(ranked)) - np.searchsorted(number[ranked], number[ranked])  # within its set
    kept, stated = (ranked[rank < limit] for limit in (most, most_states))
    spans = list(zip(start[stated].tolist(), stop[stated].tolist(), strict=True))
    blanks = zip(stated.tolist(), reader.blanks([texts[i] for i in row[stated]], spans), strict=True)
    read = [(k, blank) for k, blank in blanks if blank is not None]
    states = reader.read([blank for _, blank in read]).reshape(len(read), reader.layers * reader.width)
    finite = np.asarray(np.isfinite(states).all(1))
    state_of = {k: state for (k, _), state, is_finite in zip(read, states, finite, strict=True) if is_finite}
    columns = {
        "set": number[kept],
        "label": label[kept],
        "order": order[kept],
        "document": pa.array([document_number(datasets[i], documents[i], seed) for i in row[kept]], pa.uint64()),
        "words": pa.array(
            [words_around(texts[row[k]], start[k], stop[k], window) for k in kept], pa.list_(pa.string())
        ),
        "state": pa.array([state_of.get(k) for k in kept.tolist()], pa.list_(pa.float32())),
    }
    counts = np.bincount(number, minlength=len(sets)).tolist()
    return pa.table(columns), {"found": counts, "not_finite": int((~finite).sum())}


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
    states = pc.list_flatten(table["state"]).to_numpy().reshape(-1, layers, width)
    return Examples(
        table["label"].to_numpy(), table["words"].to_pylist(), states, table["state"].is_valid().to_numpy(),
        table["document"].to_numpy(),
    )  # fmt: skip
