"""The first copy of every text, read from the files of all ranges of hashes."""

from collections.abc import Iterator

import pyarrow as pa

from ops.arrays import Int64s
from ops.corpus.near_duplicates import without_dropped
from ops.storage.range_file import read_between, read_each_between, read_groups, read_groups_of_each
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store


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
        place = table.column_names.index("copies")
        return table.set_column(place, "copies", pa.array(copies)).filter(pa.array(kept))
