"""Which sentences are the first of their text, how often each text occurs, and where documents continue."""

import numpy as np
import pyarrow as pa

from ops.arrays import Arrays, Int64s, UInt64s

# The position of each text of a piece, by the hash of the text; how many sentences each run of rows of one document
# has, by the hash of the doc_id. `high` and `low` are the two halves of a 128-bit hash.
TEXT_HASHES = pa.schema([("high", pa.uint64()), ("low", pa.uint64()), ("place", pa.int64())])
DOCUMENT_HASHES = pa.schema(
    [("high", pa.uint64()), ("low", pa.uint64()), ("run", pa.int64()), ("sentences", pa.int64())]
)


def hash_range(part: int, parts: int) -> tuple[int, int]:
    """Return the first and the last value of a 64-bit hash that belong to a part, `part` counting from 0."""
    return -(-part * 2**64 // parts), -(-(part + 1) * 2**64 // parts) - 1


def first_copies(high: UInt64s, low: UInt64s) -> tuple[Int64s, Int64s]:
    """Return the first sentence of each text, and how often the text occurs.

    Args:
        high, low: the two halves of each text's 128-bit hash, `[sentences]` uint64, in the order of the sources.

    Returns:
        The places of the first sentences, ascending, and how often the text of each occurs, both `[distinct]` int64.
    """
    if not len(high):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order, starts = _groups(low, high)
    copies = np.diff(np.append(starts, len(order)))
    first = order[starts]  # the order is stable: within a text, places ascend
    ascending = np.argsort(first)
    return first[ascending].astype(np.int64), copies[ascending].astype(np.int64)


def earlier_sentences(high: UInt64s, low: UInt64s, source: Int64s, sentences: Int64s) -> Int64s:
    """Return for each run of a document's sentences the number of sentences in the document's earlier runs.

    Args:
        high, low: the two halves of the hash of each run's doc_id, `[runs]` uint64, in the order of the sources.
        source: the number of its source, `[runs]`; equal doc_ids of two sources are two documents.
        sentences: how many each run has, `[runs]`.

    Returns:
        `[runs]` int64, 0 for a document's first run.
    """
    if not len(high):
        return np.zeros(0, np.int64)
    order, starts = _groups(low, high, source)
    before = np.cumsum(sentences[order]) - sentences[order]
    lengths = np.diff(np.append(starts, len(order)))
    found = np.empty(len(order), np.int64)
    found[order] = before - np.repeat(before[starts], lengths)
    return found


def _groups(*keys: Arrays) -> tuple[Int64s, Int64s]:
    """Return a stable order that makes equal keys adjacent, and where in it each group starts."""
    order = np.lexsort(keys)
    new = np.zeros(len(order), bool)
    new[0] = True
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    return order, np.flatnonzero(new)
