"""The first sentence of each text, how often each text occurs, and the documents that continue after a gap."""

import numpy as np
import pyarrow as pa

from ops.arrays import Arrays, Int64s, UInt64s

# TEXT_HASHES: the hash and the position of each text of a piece. DOCUMENT_HASHES: for each block of consecutive rows of
# one document (`run`), the hash of the doc_id and the number of sentences. `high` and `low` are the halves of a 128-bit
# hash.
TEXT_HASHES = pa.schema([("high", pa.uint64()), ("low", pa.uint64()), ("place", pa.int64())])
DOCUMENT_HASHES = pa.schema(
    [("high", pa.uint64()), ("low", pa.uint64()), ("run", pa.int64()), ("sentences", pa.int64())]
)


def hash_range(part: int, parts: int) -> tuple[int, int]:
    """Return the first and the last 64-bit hash value of a part; `part` counts from 0."""
    return -(-part * 2**64 // parts), -(-(part + 1) * 2**64 // parts) - 1


def first_copies(high: UInt64s, low: UInt64s) -> tuple[Int64s, Int64s]:
    """Return the position of the first sentence of each distinct text, and how often the text occurs.

    Args:
        high, low: the two halves of each text's 128-bit hash, `[sentences]` uint64, in the order of the sources.

    Returns:
        The positions of the first sentences, ascending, and how often each text occurs, both `[distinct]` int64.
    """
    if not len(high):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order, starts = _groups(low, high)
    copies = np.diff(np.append(starts, len(order)))
    first = order[starts]  # the order is stable: the positions of each text ascend
    ascending = np.argsort(first)
    return first[ascending].astype(np.int64), copies[ascending].astype(np.int64)


def earlier_sentences(high: UInt64s, low: UInt64s, source: Int64s, sentences: Int64s) -> Int64s:
    """Return for each block of a document's sentences the number of sentences in the document's earlier blocks.

    A block, called a run in the code and the tables, is a range of consecutive rows of one document.

    Args:
        high, low: the two halves of the hash of each block's doc_id, `[runs]` uint64, in the order of the sources.
        source: the index of each block's source, `[runs]`; equal doc_ids of two sources are two documents.
        sentences: the number of sentences of each block, `[runs]`.

    Returns:
        The numbers of sentences, `[runs]` int64; 0 for a document's first block.
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
    """Return a stable order in which equal keys are adjacent, and the start of each group in this order."""
    order = np.lexsort(keys)
    new = np.zeros(len(order), bool)
    new[0] = True
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    return order, np.flatnonzero(new)
