"""The nearest other neurons of every neuron, by correlation over the activation sample and by shared winners."""

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Floats, Int64s
from ops.compare.activation_vectors import PROCESS_BYTES, unit_correlations, unit_vectors
from ops.compare.shared_winners import WinnerLists
from ops.sampling import random_rotations
from ops.statistics.association import place_in_group
from ops.topk.neurons import NEURONS_PER_PART, Neurons

REACHES = ("within", "across")
PAIR_BYTES = 60  # memory for each pair of a block's neuron and another neuron, while the nearest are found


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
        candidates = []
        for reach in (same, ~same & heard):
            candidates.append(_first(np.where(reach & vary, correlation, -np.inf), self.most))
            # Ties in the number of shared winners go to the higher correlation.
            key = np.where(reach & (shared > 0), shared + (correlation + 1) / 4, -np.inf)
            candidates.append(_first(key, self.most))
        chosen = np.concatenate(candidates, 1)
        owner = np.repeat(np.arange(len(block)), chosen.shape[1])
        pairs = np.unique(np.stack([owner, chosen.ravel()], 1)[chosen.ravel() >= 0], axis=0)
        row, number = pairs.T
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


def _first(values: Floats, most: int) -> Int64s:
    """Return the columns of each row's `most` highest finite values, `[rows, most]`; -1 if there are fewer."""
    most = min(most, values.shape[1])
    highest = np.argpartition(-values, most - 1, axis=1)[:, :most]
    return np.where(np.isfinite(np.take_along_axis(values, highest, 1)), highest, -1)


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
