"""Bounds for the complete corpus, computed from histograms of the finished shards."""

import numpy as np

from ops.arrays import Float32s, Floats, Integers

# A shard that is scored again on other hardware may differ in the last digits from what the histogram counted.
_MARGIN = 1e-5


def histogram_bounds(counts: Integers, edges: Float32s, k: int) -> tuple[Float32s, Float32s]:
    """Return what an activation must reach, for each neuron, to be among the `k` highest or lowest.

    If `k` distinct sentences reach an edge of the histogram, no sentence below that edge can win, in whichever shard it
    is. The bound is the highest such edge, loosened by a hundred-thousandth. For the lowest activations it is the
    lowest edge that `k` sentences are below. A sentence at the bound itself must be kept.

    Args:
        counts: how many distinct sentences fell into each bin, `[neurons, bins]`.
        edges: the inner edges, `[neurons, bins - 1]`, ascending.
        k: winners of each neuron and pole.

    Returns:
        The bound from below for the highest and from above for the lowest, each `[neurons]`; infinite where fewer
        than `k` are counted.
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
    """A reducer: adds up the histograms of distinct shards; a shard that is added again does not count twice.

    It is empty when created. `update` is idempotent for each shard and its order does not matter. A run has only one,
    so there is no `merge`.

    Args:
        edges: the histograms' inner edges, `[neurons, bins - 1]`.
        k: winners of each neuron and pole.
    """

    def __init__(self, edges: Float32s, k: int) -> None:
        self.edges, self.k = edges, k
        # Sentence ids have 32 bits, so their counts fit in 32 bits too.
        self.counts = np.zeros((len(edges), edges.shape[1] + 1), np.uint32)
        self.shards: set[int] = set()

    def update(self, shard: int, counts: Integers) -> None:
        """Take in a finished shard's histogram, `[neurons, bins]`."""
        if shard not in self.shards:
            self.shards.add(shard)
            np.add(self.counts, counts, out=self.counts, casting="unsafe")

    def result(self) -> tuple[Float32s, Float32s]:
        """Return the bounds from below for the highest and from above for the lowest, as `histogram_bounds` does."""
        return histogram_bounds(self.counts, self.edges, self.k)
