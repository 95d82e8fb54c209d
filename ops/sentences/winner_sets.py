"""The winners of neurons and poles, as rows of the annotated sentences."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ops.arrays import Int64s
from ops.patterns.sequences import Sequences
from ops.sentences.store import SentenceStore
from ops.storage.store import Store
from ops.topk.neurons import Neurons
from ops.topk.winner_groups import winner_groups


class WinnerSets(NamedTuple):
    """The winners of the neurons and poles that have any.

    Attributes:
        number: the `set_number` of each neuron and pole, ascending, `[sets]`.
        rows: the rows of its winners among the annotated sentences.
    """

    number: Int64s
    rows: Sequences

    @property
    def set_of(self) -> Int64s:
        """The index of each winner's set, ascending, `[winners]`."""
        return np.repeat(np.arange(len(self.number)), self.rows.lengths)

    def by_row(self) -> "WinnerSets":
        """Return the same sets, each with its rows ascending."""
        rows = self.rows.items[np.lexsort((self.rows.items, self.set_of))]
        return WinnerSets(self.number, Sequences(rows, self.rows.offsets))

    def each(self) -> Iterator[tuple[int, Int64s]]:
        """Yield the number of each set and the rows of its winners."""
        for number, rows in zip(self.number.tolist(), self.rows.to_arrays(), strict=True):
            yield number, rows.astype(np.int64)


def winner_rows(
    store: Store, neurons: Neurons, sentences: SentenceStore, numbers: Int64s | None = None, table: str = "topk"
) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield the set number and the row of the winners of some neurons, by default of all, a row group at a time.

    Args:
        store: the run's folder.
        neurons: all neurons of the run.
        sentences: the annotated sentences.
        numbers: the indices of the neurons to read; None for all neurons.
        table: `topk` or `topk_by_dataset`; winners keep its order.
    """
    for number, rows in winner_groups(store, neurons, numbers, table=table):
        yield number, sentences.rows(rows["sent_id"].to_numpy())


def read_winner_sets(
    store: Store, neurons: Neurons, sentences: SentenceStore, numbers: Int64s, table: str = "topk"
) -> WinnerSets:
    """Return the winners of some neurons as sets, in the table's order; the arguments are those of `winner_rows`."""
    none = np.zeros(0, np.int64)
    blocks = [(none, none), *winner_rows(store, neurons, sentences, numbers, table)]
    number, row = map(np.concatenate, zip(*blocks, strict=True))
    sets, starts = np.unique(number, return_index=True)
    return WinnerSets(sets, Sequences(row.astype(np.int32), np.append(starts, len(number))))
