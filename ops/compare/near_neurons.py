"""The nearest other neurons of every neuron, by correlation over the activation sample and by shared winners."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Floats, Int32s, Int64s, Integers
from ops.compare.activation_vectors import PROCESS_BYTES, unit_correlations, unit_vectors
from ops.compiled import compiled
from ops.sampling import random_rotations
from ops.statistics.association import place_in_group
from ops.storage.store import Store
from ops.topk.neurons import NEURONS_PER_PART, POLES, Neurons, neuron_and_pole
from ops.topk.winner_groups import winner_groups

REACHES = ("within", "across")
PAIR_BYTES = 60  # memory for each pair of a block's neuron and another neuron, while the nearest are found


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
        marks = np.zeros(int(sent_id.max(initial=-1)) + 1, bool)
        marks[sent_id] = True
        distinct = np.flatnonzero(marks)
        place = np.cumsum(marks, dtype=np.int32) - 1
        sentences = place[sent_id].astype(np.int32)
        starts = np.append(0, np.cumsum(counts))
        owner_starts = np.append(0, np.cumsum(np.bincount(sentences, minlength=len(distinct))))
        kind = np.uint16 if len(counts) < 1 << 16 else np.int32
        owners = _invert(starts, sentences, owner_starts, np.empty(len(sentences), kind))
        return cls(starts, sentences, distinct, owner_starts, owners)

    def shared(self, block: Int64s) -> Int32s:
        """Return how many winners each neuron of a block, given by number, shares with every neuron, `[block, all]`.

        The result is a block of rows of the product of the sparse matrix of winners and its transpose. It is a dense
        int32 matrix, because most pairs of neurons share some winners, so that indices would only take more memory.
        """
        return self.shared_with(self.of_neurons(block))

    def of_neurons(self, block: Int64s) -> list[Int32s]:
        """Return the winners of each neuron of a block, given by number, as indices among the distinct sentences."""
        return [self.sentences[self.starts[neuron] : self.starts[neuron + 1]] for neuron in block]

    def shared_with(self, sets: list[Int32s]) -> Int32s:
        """Return how many sentences of each set each neuron has as winners, `[sets, neurons]` int32.

        The sets contain indices of sentences in `distinct`.
        """
        starts = np.cumsum([0, *map(len, sets)])
        sentences = np.concatenate([np.zeros(0, np.int32), *sets])
        counts = np.zeros((len(sets), len(self.starts) - 1), np.int32)
        _count_owners(starts, sentences, self.owner_starts, self.owners, counts)
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
    counts, sent_ids = np.zeros(len(neurons), np.int64), []
    for sets, rows in winner_groups(store, neurons, None):
        # The table is sorted by neuron, so a winner's neuron follows from its position.
        neuron, code = neuron_and_pole(sets)
        of_pole = code == POLES.index(pole)
        counts += np.bincount(neuron[of_pole], minlength=len(neurons))
        sent_id = rows["sent_id"].to_numpy()[of_pole]
        sent_ids.append(sent_id.astype(np.int32) if sent_id.max(initial=0) < 1 << 31 else sent_id)
    return counts, np.concatenate([np.zeros(0, np.int32), *sent_ids])


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
def _count_owners(starts: Int64s, sentences: Int32s, owner_starts: Int64s, owners: Integers, counts: Int32s) -> None:
    for number in range(len(starts) - 1):
        row = counts[number]
        for i in range(starts[number], starts[number + 1]):
            sentence = sentences[i]
            for j in range(owner_starts[sentence], owner_starts[sentence + 1]):
                row[owners[j]] += 1


class NeighbourFinder:
    """Finds the nearest neurons of one block of neurons at a time.

    Args:
        vectors: the result of `unit_vectors`, `[neurons, sentences]` float32.
        most: maximum number of neighbours of each of four kinds: by correlation and by overlap, each within the layer
            and across layers.
        silent: which neurons are silent, `[neurons]` bool. They neither have nor are neighbours.
    """

    def __init__(
        self, neurons: Neurons, vectors: Float32s, winners: dict[str, WinnerLists], most: int, silent: Bools
    ) -> None:
        self.neurons, self.vectors, self.winners, self.most, self.silent = neurons, vectors, winners, most, silent
        self.layer, self.unit = neurons.layer_and_unit(np.arange(len(neurons)))
        self.constant = np.asarray(~vectors.any(1))
        self.sizes = np.array(sum(np.diff(lists.starts) for lists in winners.values()))

    def rows(self, block: Int64s) -> pa.Table:
        """Return the rows of `compare/neighbours` of a block of neurons, given by number, ascending.

        A neuron's neighbours are the neurons that are among its nearest of any of the four kinds. A neuron without a
        shared winner is never near by overlap, a constant neuron is never near by correlation, and a silent neuron is
        never near at all.
        """
        correlation = unit_correlations(self.vectors[block], self.vectors)
        # Both poles' numbers of shared winners are added, `[block, neurons]`.
        shared = np.asarray(sum(lists.shared(block) for lists in self.winners.values()), np.int32)
        itself = block[:, None] == np.arange(len(self.neurons))
        heard = ~self.silent & ~self.silent[block, None] & ~itself
        same = (self.layer[block, None] == self.layer) & heard
        vary = ~self.constant & ~self.constant[block, None]
        is_near = np.zeros(shared.shape, bool)
        for reach in (same, ~same & heard):
            is_near |= _are_first(np.where(reach & vary, correlation, -np.inf), self.most)
            # Ties in the number of shared winners go to the higher correlation.
            key = np.where(reach & (shared > 0), shared + (correlation + 1) / 4, -np.inf)
            is_near |= _are_first(key, self.most)
        row, number = np.nonzero(is_near)
        r = correlation[row, number]
        overlap = shared[row, number] / np.maximum(self.sizes[block[row]], 1)
        order = np.lexsort((number, -overlap, -r, row))
        row, number, r, overlap = row[order], number[order], r[order], overlap[order]
        neuron = block[row]
        columns = {
            "layer": self.layer[neuron], "unit": self.unit[neuron], "rank": place_in_group(row) + 1,
            "layer_b": self.layer[number], "unit_b": self.unit[number], "overlap": overlap,
            "correlation": pa.array(r.astype(np.float32), mask=self.constant[neuron] | self.constant[number]),
        }  # fmt: skip
        return schema.table("compare/neighbours", columns)


def _are_first(values: Floats, most: int) -> Bools:
    """Return which are each row's `most` highest finite values, in the shape of the values."""
    most = min(most, values.shape[1])
    highest = np.argpartition(-values, most - 1, axis=1)[:, :most]
    is_first = np.zeros(values.shape, bool)
    np.put_along_axis(is_first, highest, np.isfinite(np.take_along_axis(values, highest, 1)), 1)
    return is_first


def finder_bytes(neurons: int, sampled: int, k: int, poles: int, sentences: int, block: int = NEURONS_PER_PART) -> int:
    """Estimate the memory in bytes of a process that finds neighbours: vectors, winner lists, and one block.

    Args:
        neurons, sampled, k, poles, sentences: number of neurons, of sentences of the activation sample, of winners of a
            neuron at a pole, of poles, and of scored sentences.
        block: number of neurons whose neighbours are found at once.

    >>> [round(finder_bytes(neurons, 10_000, 10_000, 2, 1_000_000) / 1e9, 1) for neurons in (9_216, 36_864)]
    [2.8, 9.9]
    """
    winners, owner = neurons * k, 2 if neurons < 1 << 16 else 4
    vectors = 4 * neurons * sampled
    # The terms are indices and owners of winners, and ids and starts of distinct sentences. While a pole is read, its
    # ids are in memory twice.
    lists = poles * (winners * (4 + owner) + 16 * min(winners, sentences)) + 8 * winners + 5 * sentences
    return PROCESS_BYTES + vectors + lists + block * neurons * PAIR_BYTES


def nearest_rows(
    finder: NeighbourFinder, layers: list[Floats], sentences: int, drawn: int, seed: tuple[int, ...],
    rotated: bool = True,
) -> pa.Table:  # fmt: skip
    """Return the rows of `compare/nearest`: the similarity of the nearest neuron, and the similarity in two controls.

    Args:
        layers: the activations of each layer that has units, `[sentences, units]`.
        sentences: number of scored sentences of the corpus, from which random winners are drawn.
        drawn: number of neurons of each layer to average over, none of them silent.
        rotated: whether neurons are also compared with the axes of rotated layers. The features of a sparse dictionary
            should not be, because a rotation of thousands of sparse features is not a basis of anything.
    """
    rng, neurons = np.random.default_rng(seed), finder.neurons
    heard = [np.flatnonzero((finder.layer == number) & ~finder.silent) for number in neurons.layers]
    chosen = [np.sort(rng.choice(units, min(drawn, len(units)), replace=False)) for units in heard]
    if rotated:
        rotations = random_rotations((layer.shape[1] for layer in layers), rng)
        turned = np.concatenate([unit_vectors((layer - layer.mean(0)) @ rotations[layer.shape[1]]) for layer in layers])
    order = rng.permutation(finder.vectors.shape[1])
    rows = []
    for number, units in zip(neurons.layers, chosen, strict=True):
        if not len(units):
            continue
        vectors = finder.vectors[units]
        highest: dict[str, Floats] = {
            "correlation": unit_correlations(vectors, finder.vectors),
            "correlation_of_shuffled": unit_correlations(vectors[:, order], finder.vectors),
            "overlap": _overlaps(finder, units, None, sentences),
            "overlap_of_shuffled": _overlaps(finder, units, rng, sentences),
        }
        if rotated:
            highest["correlation_of_rotated"] = unit_correlations(turned[units], turned)
        itself = units[:, None] == np.arange(len(neurons))
        for reach in REACHES:
            allowed = ((finder.layer == number) == (reach == "within")) & ~finder.silent & ~itself
            if allowed.any(1).all():
                means = {n: float(np.where(allowed, values, -np.inf).max(1).mean()) for n, values in highest.items()}
                rows.append({"layer": number, "reach": reach, "n": len(units), **means})
    return schema.table("compare/nearest", rows)


def _overlaps(finder: NeighbourFinder, units: Int64s, rng: np.random.Generator | None, sentences: int) -> Float64s:
    """Return the overlaps of some neurons with all neurons, `[some, neurons]`.

    If `rng` is given, random sentences take the place of these neurons' winners.
    """
    shared = np.zeros((len(units), len(finder.neurons)))
    for lists in finder.winners.values():
        sets = lists.of_neurons(units)
        if rng is not None:
            # A sentence that never wins is shared with no neuron. So only the number of drawn sentences that win
            # anywhere matters.
            win = [rng.hypergeometric(len(lists.distinct), sentences - len(lists.distinct), len(s)) for s in sets]
            sets = [rng.choice(len(lists.distinct), n, replace=False).astype(np.int32) for n in win]
        shared += lists.shared_with(sets)
    return np.asarray(shared / np.maximum(finder.sizes[units], 1)[:, None])
