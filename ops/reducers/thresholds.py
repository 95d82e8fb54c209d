"""Bounds for the complete corpus, computed from histograms of the finished shards."""

import numpy as np

from ops.arrays import Float32s, Floats, Integers

# If a shard is scored again on other hardware, activations may differ in the last digits from those in the histogram.
_MARGIN = 1e-5


def histogram_bounds(counts: Integers, edges: Float32s, k: int) -> tuple[Float32s, Float32s]:
    """Return the bounds that an activation of each neuron must reach to be among the `k` highest or lowest.

    If `k` distinct sentences reach an edge of the histogram, no sentence below that edge can win, whichever shard it
    is in. The bound for the highest activations is the highest such edge, loosened by a hundred-thousandth. The bound
    for the lowest activations is the lowest edge with `k` sentences below it, loosened in the same way. A sentence at
    the bound itself must be kept.

    Args:
        counts: number of distinct sentences in each bin, `[neurons, bins]`.
        edges: the inner edges, `[neurons, bins - 1]`, ascending.
        k: number of winners of each neuron and pole.

    Returns:
        The lower bound for the highest and the upper bound for the lowest activations, each `[neurons]`. A bound is
        infinite if fewer than `k` sentences are counted on its side of every edge.
    """
    above = counts[:, ::-1].cumsum(1)[:, ::-1][:, 1:]  # sentences at or above each edge
    below = counts.cumsum(1)[:, :-1]  # sentences below each edge
    rows, last = np.arange(len(edges)), edges.shape[1] - 1
    reached = (above >= k).sum(1) - 1
    top = np.where(reached >= 0, edges[rows, np.maximum(reached, 0)], -np.inf)
    missed = (below < k).sum(1)
    bottom = np.where(missed <= last, edges[rows, np.minimum(missed, last)], np.inf)
    return _loosened(top, -1), _loosened(bottom, 1)


def _loosened(bound: Floats, sign: int) -> Float32s:
    with np.errstate(invalid="ignore"):
        moved = bound + sign * (np.abs(bound) * _MARGIN + np.finfo(np.float32).tiny)
    return np.where(np.isfinite(bound), moved, bound).astype(np.float32)


class SharedBound:
    """A reducer that adds up the histograms of distinct shards; a shard that is added again does not count twice.

    A new object is empty. `update` is idempotent for each shard, and the order of shards does not matter. A run has
    only one `SharedBound` for its corpus and for each data set, so there is no `merge`.

    Args:
        edges: the histograms' inner edges, `[neurons, bins - 1]`.
        k: number of winners of each neuron and pole.
    """

    def __init__(self, edges: Float32s, k: int) -> None:
        self.edges, self.k = edges, k
        # Sentence ids have 32 bits, so their counts fit in 32 bits too.
        self.counts = np.zeros((len(edges), edges.shape[1] + 1), np.uint32)
        self.shards: set[int] = set()

    def update(self, shard: int, counts: Integers) -> None:
        """Add a finished shard's histogram, `[neurons, bins]`."""
        if shard not in self.shards:
            self.shards.add(shard)
            np.add(self.counts, counts, out=self.counts, casting="unsafe")

    def result(self) -> tuple[Float32s, Float32s]:
        """Return the bounds that `histogram_bounds` computes from the shards added so far."""
        return histogram_bounds(self.counts, self.edges, self.k)
