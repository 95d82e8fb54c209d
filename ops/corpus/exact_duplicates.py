"""The first sentence of each text, how often each text occurs, and the documents that continue after a gap."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ops.arrays import Arrays, Int64s, UInt64s, begins_group
from ops.corpus.near_duplicates import without_dropped
from ops.storage.range_file import read_between, read_each_between, read_groups, read_groups_of_each
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store

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
    order, starts = _groups(low, high, source)
    before = np.cumsum(sentences[order]) - sentences[order]
    lengths = np.diff(np.append(starts, len(order)))
    earlier = np.empty(len(order), np.int64)
    earlier[order] = before - np.repeat(before[starts], lengths)
    return earlier


def _groups(*keys: Arrays) -> tuple[Int64s, Int64s]:
    """Return a stable order in which equal keys are adjacent, and the start of each group in this order."""
    order = np.lexsort(keys)
    # One key at a time is put in this order, to save memory.
    return order, np.flatnonzero(np.any([begins_group(key[order]) for key in keys], axis=0))


class FirstCopies:
    """The first copy of every text in all ranges of hashes, as rows of `position`, `copies` and `priority`.

    Args:
        store: the run's folder.
        names: the paths of the files of all ranges of hashes.
        near: the path of the file of near-duplicates; None if near-duplicates are kept. Dropped near-duplicates are
            skipped and counted as copies of the kept texts.
    """

    def __init__(self, store: Store, names: list[str], near: str | None) -> None:
        self.store, self.names, self.near = store, names, near

    def between(self, first: int, last: int) -> pa.Table:
        """Return the first copies with positions from `first` to `last` (inclusive), sorted by position."""
        parts = read_each_between(self.store, self.names, "position", first, last)
        return self._kept(pa.concat_tables(parts).sort_by("position"))

    def groups(self, *columns: str) -> Iterator[pa.Table]:
        """Yield `position` and the requested columns of all first copies, a part at a time and unordered."""
        read = list(dict.fromkeys(["position", "copies", *columns] if self.near else ["position", *columns]))
        for group in read_groups_of_each(self.store, self.names, read):
            yield self._kept(group)

    def dropped(self) -> Iterator[Int64s]:
        """Yield the positions of the texts dropped as near-duplicates, a part at a time."""
        if self.near:
            for group in read_groups(self.store, self.near, ["position", "first"]):
                position = group["position"].to_numpy()
                yield position[position != group["first"].to_numpy()]

    def total(self) -> int:
        """Return the number of first copies without dropped near-duplicates."""

        def rows(name: str) -> int:
            with self.store.parquet(name) as file:
                return int(file.metadata.num_rows)

        return sum(side_by_side(rows, self.names)) - sum(len(part) for part in self.dropped())

    def _kept(self, table: pa.Table) -> pa.Table:
        if not self.near or not table.num_rows:
            return table
        position = table["position"].to_numpy()
        near = read_between(self.store, self.near, "position", int(position[0]), int(position[-1]))
        columns = tuple(near[name].to_numpy() for name in ("position", "first", "copies"))
        kept, copies = without_dropped(position, table["copies"].to_numpy(), columns)
        index = table.column_names.index("copies")
        return table.set_column(index, "copies", pa.array(copies)).filter(pa.array(kept))
