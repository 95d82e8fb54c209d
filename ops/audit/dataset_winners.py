"""The winners of neurons within each data set, as rows of the annotated sentences."""

from collections.abc import Iterator

import numpy as np

from ops.arrays import Int32s, Int64s
from ops.sentences.store import SentenceStore
from ops.sentences.winner_sets import WinnerSets, read_winner_sets
from ops.storage.store import Store
from ops.topk.neurons import Neurons


def read_dataset_winners(
    store: Store, neurons: Neurons, sentences: SentenceStore, numbers: Int64s, table: str, part: Int32s, most: int
) -> Iterator[tuple[int, Int64s]]:
    """Yield the sets of some neurons in order: the set's number, and its winners, ascending.

    Args:
        store: the run's folder.
        neurons: the run's neurons.
        sentences: the annotated sentences.
        numbers: the numbers of the neurons to read, ascending.
        table: `topk_by_dataset` or `topk`.
        part: the part of each row of the store, -1 for rows to skip.
        most: maximum number of winners in a data set. If there are more, those with the first ranks are kept.
    """
    winners = read_winner_sets(store, neurons, sentences, numbers, table)
    of_part = part[winners.rows.items]
    # Within a set and data set, the winners are sorted by rank.
    key = np.where(of_part < 0, -1, winners.set_of * (int(part.max(initial=0)) + 1) + of_part)
    order = np.argsort(key, kind="stable")
    order = order[key[order] >= 0]
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    size = np.diff(np.append(starts, len(order)))
    position = np.arange(len(order)) - np.repeat(starts, size)
    kept = np.zeros(len(key), np.bool_)
    kept[order[position < most]] = True
    chosen = WinnerSets(winners.number, winners.rows.where(kept)).by_row()
    yield from ((number, rows) for number, rows in chosen.each() if len(rows))
