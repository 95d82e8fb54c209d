"""The winners of neurons within each data set, as rows of the annotated sentences."""

from collections.abc import Iterator

import numpy as np

from ops.arrays import Int32s, Int64s
from ops.sentences.store import SentenceStore
from ops.storage.store import Store
from ops.topk.neurons import Neurons
from ops.topk.winner_groups import winner_groups

LEAST_WINNERS = 20  # minimum for a neuron and pole in a data set, if winners are those of the complete corpus


def read_dataset_winners(
    store: Store, neurons: Neurons, sentences: SentenceStore, numbers: Int64s, table: str, part: Int32s, most: int
) -> Iterator[tuple[int, Int64s]]:
    """Yield the sets of some neurons in order: the set's number, and its winners, ascending.

    Args:
        store: the run's folder.
        neurons: the run's neurons.
        sentences: the annotated sentences.
        numbers: the numbers of the neurons to read, ascending.
        table: `topk_by_dataset`, or `topk`, whose winners count only in data sets with at least `LEAST_WINNERS`.
        part: the part of each row of the store, -1 for rows to skip.
        most: maximum number of winners in a data set. If there are more, those with the first ranks are kept.
    """
    sets, rows, ranks = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for own, found in winner_groups(store, neurons, numbers, ("rank", "sent_id"), table):
        sets.append(own)
        rows.append(sentences.rows(found["sent_id"].to_numpy()))
        ranks.append(found["rank"].to_numpy().astype(np.int64))
    of_set, row, rank = np.concatenate(sets), np.concatenate(rows), np.concatenate(ranks)
    inside = part[row] >= 0
    of_set, row, rank = of_set[inside], row[inside], rank[inside]
    order = np.lexsort((rank, part[row], of_set))
    of_set, row = of_set[order], row[order]
    # The position of each winner within its set and data set, and the number of winners there.
    key = of_set * (int(part.max(initial=0)) + 1) + part[row]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    size = np.diff(np.append(starts, len(key)))
    place = np.arange(len(key)) - np.repeat(starts, size)
    least = LEAST_WINNERS if table == "topk" else 1
    keep = (place < most) & (np.repeat(size, size) >= least)
    of_set, row = of_set[keep], row[keep]
    order = np.lexsort((row, of_set))
    of_set, row = of_set[order], row[order]
    bounds = np.append(np.flatnonzero(np.diff(of_set, prepend=-1)), len(of_set))
    for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield int(of_set[first]), row[first:stop]
