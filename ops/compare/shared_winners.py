"""The number of winners that neurons share, counted for one block of neurons with all neurons at a time."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Int32s, Int64s, Integers
from ops.compiled import compiled
from ops.storage.store import Store
from ops.topk.neurons import POLES, Neurons, neuron_and_pole
from ops.topk.winner_groups import winner_groups


@dataclass(frozen=True)
class WinnerLists:
    """The winners of all neurons at one pole, by neuron and by sentence.

    Attributes:
        starts: where each neuron's winners start in `sentences`, `[neurons + 1]` int64.
        sentences: the winners' indices among the distinct ones, `[winners]` int32.
        distinct: the sentence ids, ascending, `[distinct]` int64.
        owner_starts: where each sentence's neurons start in `owners`, `[distinct + 1]` int64.
        owners: the neurons of which a sentence is a winner, `[winners]` uint16, or int32 if there are many neurons.
    """

    starts: Int64s
    sentences: Int32s
    distinct: Int64s
    owner_starts: Int64s
    owners: Integers

    @classmethod
    def of(cls, counts: Int64s, sent_id: Integers) -> "WinnerLists":
        """Build the lists from each neuron's number of winners, `[neurons]`, and all winners, ordered by neuron."""
        neurons = len(counts)
        marks = np.zeros(int(sent_id.max(initial=-1)) + 1, bool)
        marks[sent_id] = True
        distinct = np.flatnonzero(marks)
        place = np.cumsum(marks, dtype=np.int32) - 1
        sentences = place[sent_id].astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        owner_starts = np.concatenate([[0], np.cumsum(np.bincount(sentences, minlength=len(distinct)))])
        kind = np.uint16 if neurons < 1 << 16 else np.int32
        owners = _invert(starts, sentences, owner_starts.astype(np.int64), np.empty(len(sentences), kind))
        return cls(starts, sentences, distinct, owner_starts.astype(np.int64), owners)

    def shared(self, block: Int64s) -> Int32s:
        """Return how many winners each neuron of a block, given by number, shares with every neuron, `[block, all]`.

        The result is a block of rows of the product of the sparse matrix of winners and its transpose. It is a dense
        int32 matrix, because most pairs of neurons share some winners, so that indices would only take more memory.
        """
        return _count_shared(self.starts, self.sentences, self.owner_starts, self.owners, block)

    def shared_with(self, sets: list[Int32s]) -> Int32s:
        """Return how many sentences of each set each neuron has as winners, `[sets, neurons]` int32.

        The sets contain indices of sentences in `distinct`.
        """
        starts = np.cumsum([0, *map(len, sets)])
        sentences = np.concatenate([np.zeros(0, np.int32), *sets]).astype(np.int32)
        counts = np.zeros((len(sets), len(self.starts) - 1), np.int32)
        _count_owners(starts.astype(np.int64), sentences, self.owner_starts, self.owners, counts)
        return counts


def read_winner_lists(store: Store, neurons: Neurons) -> dict[str, WinnerLists]:
    """Return the winners of `topk/` by pole, for the poles that the run stored, reading one pole at a time."""
    lists = {}
    for pole in POLES:
        counts, sent_id = read_pole(store, neurons, pole)
        if counts.any():
            lists[pole] = WinnerLists.of(counts, sent_id)
    return lists


def read_pole(store: Store, neurons: Neurons, pole: str) -> tuple[Int64s, Integers]:
    """Return how many winners each neuron has at a pole, `[neurons]`, and the sentence ids of all winners by neuron."""
    counts, found = np.zeros(len(neurons), np.int64), []
    for sets, rows in winner_groups(store, neurons, None):
        # The table is sorted by neuron, so a winner's neuron follows from its position.
        neuron, code = neuron_and_pole(sets)
        of_pole = code == POLES.index(pole)
        counts += np.bincount(neuron[of_pole], minlength=len(neurons))
        sent_id = rows["sent_id"].to_numpy()[of_pole]
        found.append(sent_id.astype(np.int32) if sent_id.max(initial=0) < 1 << 31 else sent_id)
    return counts, np.concatenate([np.zeros(0, np.int32), *found])


@compiled
def _invert(starts: Int64s, sentences: Int32s, owner_starts: Int64s, owners: Integers) -> Integers:
    filled = owner_starts[:-1].copy()
    for neuron in range(len(starts) - 1):
        for i in range(starts[neuron], starts[neuron + 1]):
            sentence = sentences[i]
            owners[filled[sentence]] = neuron
            filled[sentence] += 1
    return owners


@compiled
def _count_shared(starts: Int64s, sentences: Int32s, owner_starts: Int64s, owners: Integers, block: Int64s) -> Int32s:
    counts = np.zeros((len(block), len(starts) - 1), np.int32)
    for place in range(len(block)):
        neuron, row = block[place], counts[place]
        for i in range(starts[neuron], starts[neuron + 1]):
            sentence = sentences[i]
            for j in range(owner_starts[sentence], owner_starts[sentence + 1]):
                row[owners[j]] += 1
    return counts


@compiled
def _count_owners(starts: Int64s, sentences: Int32s, owner_starts: Int64s, owners: Integers, counts: Int32s) -> None:
    for number in range(len(starts) - 1):
        row = counts[number]
        for i in range(starts[number], starts[number + 1]):
            sentence = sentences[i]
            for j in range(owner_starts[sentence], owner_starts[sentence + 1]):
                row[owners[j]] += 1
