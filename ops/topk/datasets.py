"""The data sets within which each unit keeps winners, and their sentences, both known before scoring starts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ops.arrays import Int64s
from ops.errors import InputError, counted, one_line, some_of
from ops.shards import Ids

FLAG = "--k-per-dataset"
MOST_DATASETS = 20
LEAST_SENTENCES = 20  # minimum number of a data set's sentences for each of its winners
NO_DATASET = -1


@dataclass(frozen=True)
class Datasets:
    """The data sets within which winners are kept; empty by default.

    Ingest numbers the sentences source by source, so a data set consists of a few ranges of ids.

    Attributes:
        k: number of winners of each unit and pole within a data set; 0 if none are kept.
        names: the names of the data sets, sorted.
        sizes: the number of sentences of each data set.
        runs: ranges of ids as (first id, last id + 1, index of the data set in `names`), ascending.
    """

    k: int = 0
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    runs: tuple[tuple[int, int, int], ...] = ()

    @classmethod
    def chosen(cls, k: int, sources: Iterable[Mapping[str, Any]]) -> Self:
        """Return the data sets of a corpus that have at least `LEAST_SENTENCES` sentences for each of `k` winners.

        Args:
            k: number of winners of each unit and pole within a data set; 0 for none.
            sources: ingest's entry for each source, with `dataset`, `kept` and `first_sent_id`.

        Raises:
            InputError: more than `MOST_DATASETS` data sets are large enough.

        >>> sources = [{"dataset": name, "kept": n, "first_sent_id": at}
        ...            for name, n, at in (("b", 40, 0), ("few", 39, 40), ("a", 50, 79))]
        >>> Datasets.chosen(2, sources)
        Datasets(k=2, names=('a', 'b'), sizes=(50, 40), runs=((0, 40, 1), (79, 129, 0)))
        """
        if not k:
            return cls()
        sizes: dict[str, int] = defaultdict(int)
        spans = []
        for source in sources:
            first, kept = source["first_sent_id"], source["kept"]
            sizes[source["dataset"]] += kept
            if kept:
                spans.append((first, first + kept, source["dataset"]))
        names = sorted(name for name, size in sizes.items() if size >= LEAST_SENTENCES * k)
        if len(names) > MOST_DATASETS:
            larger = sorted(sizes.values(), reverse=True)[MOST_DATASETS] // LEAST_SENTENCES + 1
            raise InputError(
                f"{FLAG} {k}: {len(names)} data sets have at least {LEAST_SENTENCES * k:,} sentences, "
                f"{LEAST_SENTENCES} for each winner, but at most {MOST_DATASETS} can have winners of their own; "
                f"give {larger} or more, or 0 to turn it off"
            )
        indices = {name: index for index, name in enumerate(names)}
        runs = sorted((first, stop, indices[name]) for first, stop, name in spans if name in indices)
        return cls(k, tuple(names), tuple(sizes[name] for name in names), tuple(runs))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def winners(self) -> int:
        """The number of winners of a unit and pole in all data sets together."""
        return self.k * len(self)

    def of_ids(self, ids: Ids) -> Int64s:
        """Return the index of each sentence's data set, `[sentences]` int64, or `NO_DATASET` for any other data set."""
        first, stop, index = np.array(self.runs, np.int64).reshape(-1, 3).T
        if not len(first):
            return np.full(len(ids), NO_DATASET, np.int64)
        run = np.searchsorted(first, ids, side="right") - 1
        return np.where((run >= 0) & (ids < stop[run]), index[run], NO_DATASET)

    def split(self, ids: Ids) -> Iterator[tuple[int, Int64s]]:
        """Yield, for each data set among some sentences, its index and the positions of its sentences in `ids`."""
        indices = self.of_ids(ids)
        for index in np.unique(indices[indices != NO_DATASET]).tolist():
            yield index, np.flatnonzero(indices == index)

    def in_span(self, first: int, stop: int) -> list[int]:
        """Return the indices of the data sets that have sentences from `first` to `stop` - 1, ascending."""
        return sorted({index for start, end, index in self.runs if start < stop and first < end})

    def whole_span(self, first: int, stop: int) -> int | None:
        """Return the index of the data set that contains all sentences from `first` to `stop` - 1.

        It is None if no single data set contains them all. Consecutive sources of one data set count as one range.
        """
        inside = sum(max(min(stop, end) - max(first, start), 0) for start, end, _ in self.runs)
        indices = self.in_span(first, stop)
        return indices[0] if len(indices) == 1 and inside == stop - first else None

    def said(self, sources: Iterable[Mapping[str, Any]]) -> str:
        """Return a description of which data sets have their own winners, given ingest's counts of the sources."""
        left = sorted({source["dataset"] for source in sources} - set(self.names))
        but = f"; fewer than {LEAST_SENTENCES * self.k:,} sentences: {_listed(left)}" if left else ""
        return f"the first {self.k:,} within {counted(len(self), 'data set')}: {_listed(self.names)}{but}"


NO_DATASETS = Datasets()
_SHOWN, _LONGEST = 6, 40  # names in a message, and characters of a name


def _listed(names: Iterable[str]) -> str:
    """Return names for a message: an empty name is shown as quotes, and a long name is cut.

    >>> _listed(["news", "", *"abcdef"])
    "news, '', a, b, c, d and 2 more"
    """
    return some_of([one_line(name, _LONGEST) if name.strip() else repr(name) for name in names], _SHOWN)
