"""The second step of `ingest`: by ranges of hashes, the first copy of every text and where documents went on."""

from collections.abc import Iterator
from functools import partial as bind
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from jobs._engine import Item
from jobs._pieces import Pieces, partial
from ops.corpus.exact_duplicates import earlier_sentences, first_copies, hash_range
from ops.corpus.near_duplicates import without_dropped
from ops.sampling import LIMIT, priorities
from ops.storage.range_file import GROUP_ROWS, read_between, read_groups
from ops.storage.store import Store, is_whole, shard_footer

KINDS = ("texts", "documents")
PARTITION = 1 << 21  # hashes
NEAR_FILE = "_partials/ingest/near.parquet"


def distinct_items(pieces: Pieces, partition: int = PARTITION) -> list[Item]:
    """Return the ranges of hashes as items, of about `partition` hashes each: a function of the counts alone."""
    parts = max(-(-int(max(pieces.sentences.sum(), pieces.documents.sum())) // partition), 1)
    return [{"part": part, "parts": parts} for part in range(parts)]


def distinct_file(item: Item, kind: str) -> str:
    """Return the path of a partial file of an item, `texts` or `documents`."""
    return f"_partials/ingest/{_name(item, kind)}.parquet"


def is_distinct(store: Store, item: Item, fingerprint: str) -> bool:
    """Tell whether an item's partial files are in place."""
    return all(is_whole(store, distinct_file(item, kind), fingerprint, _name(item, kind)) for kind in KINDS)


def _name(item: Item, kind: str) -> str:
    return f"distinct-{kind}-{item['part']:05d}-of-{item['parts']:05d}"


class HashRange:
    """Finds the first copies in one range of hashes after another.

    Commits for texts `position` (of the first copy among all usable sentences), `copies` and, where a sample is to
    be drawn, `priority`; for documents `run` and `before`, the sentences of its document's earlier runs, where there
    are any. Both are sorted by the first column.
    """

    def __init__(self, out: str, pieces: Pieces, seed: int | None, fingerprint: str) -> None:
        self.store, self.pieces, self.seed, self.fingerprint = Store(out), pieces, seed, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one range."""
        for kind, find in (("texts", self._texts), ("documents", self._documents)):
            table = pa.table(find(item))
            table = table.replace_schema_metadata(shard_footer(self.fingerprint, _name(item, kind), table.num_rows))
            self.store.commit(distinct_file(item, kind), bind(write_numbers, table))
        return {}

    def _texts(self, item: Item) -> dict[str, npt.NDArray[Any]]:
        position, high, low = self._read(item, "texts", "place", self.pieces.first_positions())
        first, copies = first_copies(high, low)
        columns: dict[str, npt.NDArray[Any]] = {"position": position[first], "copies": copies}
        if self.seed is not None:
            columns["priority"] = priorities(low[first], self.seed, LIMIT)
        return columns

    def _documents(self, item: Item) -> dict[str, npt.NDArray[Any]]:
        run, high, low, sentences = self._read(item, "documents", "run", self.pieces.first_runs(), "sentences")
        piece = np.searchsorted(self.pieces.first_runs(), run, "right") - 1
        before = earlier_sentences(high, low, self.pieces.sources[piece], sentences)
        return {"run": run[before > 0], "before": before[before > 0]}

    def _read(
        self, item: Item, kind: str, number: str, firsts: npt.NDArray[np.int64], *more: str
    ) -> tuple[npt.NDArray[Any], ...]:
        """Return `number` counted over all pieces, the hashes' halves and further columns, sorted by the first."""
        between = hash_range(item["part"], item["parts"])
        columns = (number, "high", "low", *more)
        parts = []
        for piece, first in enumerate(firsts[:-1]):
            table = read_between(self.store, partial(piece, kind), "high", *between)
            own = [table[name].to_numpy() for name in columns]
            parts.append((own[0] + first, *own[1:]))
        whole = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(whole[0])
        return tuple(column[order] for column in whole)


def write_numbers(table: pa.Table, path: str) -> None:
    """Write a table of numbers that is read by ranges of a column."""
    pq.write_table(table, path, row_group_size=GROUP_ROWS, compression="zstd", use_dictionary=False)


class FirstCopies:
    """The first copies of all texts as the ranges of hashes found them: rows of `position`, `copies` and `priority`.

    Args:
        store: the run's folder.
        ranges: the items of the second step.
        near: leave out those that are dropped as near-duplicates, and count them as copies of the ones kept.
    """

    def __init__(self, store: Store, ranges: list[Item], near: bool) -> None:
        self.store, self.near = store, near
        self.names = [distinct_file(item, "texts") for item in ranges]

    def between(self, first: int, last: int) -> pa.Table:
        """Return those whose positions lie from `first` to `last`, both included, by position."""
        parts = (read_between(self.store, name, "position", first, last) for name in self.names)
        return self._kept(pa.concat_tables(parts).sort_by("position"))

    def groups(self, *columns: str) -> Iterator[pa.Table]:
        """Return `position` and some other columns of all of them, a part at a time, the parts in no order."""
        read = list(dict.fromkeys(["position", "copies", *columns] if self.near else ["position", *columns]))
        for name in self.names:
            for group in read_groups(self.store, name, read):
                yield self._kept(group)

    def dropped(self) -> Iterator[npt.NDArray[np.int64]]:
        """Return the positions of those that are dropped as near-duplicates, a part at a time."""
        if self.near:
            for group in read_groups(self.store, NEAR_FILE, ["position", "first"]):
                position = group["position"].to_numpy()
                yield position[position != group["first"].to_numpy()]

    def total(self) -> int:
        """Count them."""
        found = 0
        for name in self.names:
            with self.store.parquet(name) as file:
                found += file.metadata.num_rows
        return found - sum(len(part) for part in self.dropped())

    def _kept(self, table: pa.Table) -> pa.Table:
        if not self.near or not table.num_rows:
            return table
        position = table["position"].to_numpy()
        near = read_between(self.store, NEAR_FILE, "position", int(position[0]), int(position[-1]))
        columns = tuple(near[name].to_numpy() for name in ("position", "first", "copies"))
        kept, copies = without_dropped(position, table["copies"].to_numpy(), columns)
        place = table.column_names.index("copies")
        return table.set_column(place, "copies", pa.array(copies)).filter(pa.array(kept))
