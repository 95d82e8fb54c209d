"""A histogram for every neuron, each with its own edges, which a pilot sample determines."""

import numpy as np
import torch

from ops.arrays import Float32s, Int64s
from ops.compiled import compiled

BINS, FEW_BINS = 256, 32
_MOST_WITH_ALL_BINS = 65_536  # maximum number of sparse features whose histograms have `BINS` bins
_REACH = 24.0
_CORE = 1.5
# Activations of a sparse feature below this value count as 0: it is the smallest normal number of float32.
LEAST_ACTIVE = float(np.finfo(np.float32).tiny)
_BELOW_HIGHEST, _ABOVE_HIGHEST, _SMALLEST_SCALE = 1e3, 4.0, 1e-30


def edges_from_pilot(pilot: torch.Tensor, bins: int = BINS) -> torch.Tensor:
    """Return each neuron's inner edges from some of its activations.

    Edges are placed around the pilot's median, in units of the pilot's spread on each side of the median. The spread is
    the root mean square distance from the median. A quarter of the bins covers 1.5 spreads on either side of the
    median. The other bins cover the two tails out to 24 spreads. Their widths grow geometrically, starting with half
    the width of the inner bins, so that bins at an extreme quantile, such as the threshold of the winners, contain few
    sentences.

    Args:
        pilot: activations `[sentences, neurons]` float32, finite, at least one sentence.
        bins: number of bins, including the two open ones; even, and at least 8.

    Returns:
        The edges, `[neurons, bins - 1]` float32, strictly ascending for every neuron, even for a constant one.
    """
    x = pilot.double().cpu().numpy()
    median = np.median(x, axis=0)
    distance = x - median
    up = _spread(np.maximum(distance, 0), median)
    down = _spread(np.maximum(-distance, 0), median)
    half = (bins - 2) // 2
    core = bins // 8
    inner = np.linspace(0, _CORE, core + 1)[1:]
    step = _CORE / core / 2
    outer = _CORE + step * _growing(half - core, (_REACH - _CORE) / step)
    side = np.concatenate([inner, outer])
    offsets = np.concatenate([-side[::-1], [0.0], side])
    scale = np.where(offsets < 0, down[:, None], up[:, None])
    largest = np.finfo(np.float32).max
    edges = np.clip(median[:, None] + scale * offsets, -largest, largest).astype(np.float32)
    for i in range(1, edges.shape[1]):
        edges[:, i] = np.maximum(edges[:, i], np.nextafter(edges[:, i - 1], np.float32(largest)))
    for i in reversed(range(edges.shape[1] - 1)):
        edges[:, i] = np.minimum(edges[:, i], np.nextafter(edges[:, i + 1], -np.float32(largest)))
    return torch.from_numpy(edges)


def edges_of_sparse(highest: torch.Tensor, bins: int | None = None) -> torch.Tensor:
    """Return the inner edges of features whose activations are mostly 0 and never negative.

    The first edge is `LEAST_ACTIVE`, so that the first bin counts only the zeros. The other edges grow by a constant
    factor, from a thousandth of the pilot's highest activation to four times that activation. For a feature that is
    never active in the pilot, the median of the other features' highest activations is used.

    Args:
        highest: each feature's highest activation in the pilot, `[features]` float32, finite.
        bins: number of bins, including the two open ones; at least 8. None: `BINS`, or `FEW_BINS` if there are so many
            features that the histograms would be larger than the winners.

    Returns:
        The edges, `[features, bins - 1]` float32, strictly ascending.
    """
    bins = bins or (BINS if len(highest) <= _MOST_WITH_ALL_BINS else FEW_BINS)
    scale = highest.double().cpu().numpy()
    active = scale > _SMALLEST_SCALE
    scale = np.where(active, scale, np.median(scale[active]) if active.any() else 1.0)
    grid = np.geomspace(1 / _BELOW_HIGHEST, _ABOVE_HIGHEST, bins - 2)
    edges = np.clip(scale[:, None] * grid, None, np.finfo(np.float32).max).astype(np.float32)
    for i in range(1, edges.shape[1]):
        edges[:, i] = np.maximum(edges[:, i], np.nextafter(edges[:, i - 1], np.float32(np.inf)))
    first = np.full((len(edges), 1), LEAST_ACTIVE, np.float32)
    return torch.from_numpy(np.concatenate([first, edges], 1))


class Histogram:
    """A reducer that counts how many activations of each neuron are in each bin.

    Bin i counts the values with edge[i-1] <= x < edge[i]; the outer bins are open. A new histogram is empty, which is
    the neutral element. Counts are integers and `merge` adds them, so it is associative and commutative. A sentence
    that is added twice counts twice.

    Args:
        edges: the inner edges, `[neurons, bins - 1]` float32, ascending; counts are kept on the same device.
    """

    def __init__(self, edges: torch.Tensor) -> None:
        self.edges = edges
        self.counts = torch.zeros(len(edges), edges.shape[1] + 1, dtype=torch.int64, device=edges.device)

    def update(self, values: torch.Tensor, counted: torch.Tensor | None = None) -> None:
        """Count some sentences' activations, in the device's queue.

        Args:
            values: the activations, `[sentences, neurons]` float32.
            counted: the sentences to count, `[sentences]` bool; None for all.
        """
        if counted is None and self.counts.device.type == "cpu":
            _count_compiled(self.counts.numpy(), values.numpy(), self.edges.numpy())
            return
        if counted is None:
            counted = torch.ones(len(values), dtype=torch.bool, device=values.device)
        neurons, bins = self.counts.shape
        cell = torch.searchsorted(self.edges, values.T.contiguous(), right=True)
        cell += torch.arange(neurons, device=self.edges.device)[:, None] * bins
        # The counts are integers, so the sum is the same in any order.
        self.counts.view(-1).scatter_add_(0, cell.flatten(), counted.long().expand(cell.shape).flatten())

    def merge(self, other: "Histogram") -> None:
        """Add the counts of another histogram with the same edges over other sentences."""
        self.counts += other.counts

    def result(self) -> torch.Tensor:
        """Return the counts, `[neurons, bins]` int64."""
        return self.counts


@compiled
def _count_compiled(counts: Int64s, values: Float32s, edges: Float32s) -> None:
    # All sentences of a neuron take each step of the binary search together: without branches, it is vectorised.
    column = np.empty(len(values), np.float32)
    low = np.empty(len(values), np.int32)
    for neuron in range(len(edges)):
        neuron_edges, bin_counts = edges[neuron], counts[neuron]
        for i in range(len(values)):
            column[i] = values[i, neuron]
            low[i] = 0
        left = len(neuron_edges)
        while left > 1:
            half = left >> 1
            for i in range(len(values)):
                low[i] += np.int32(half) if neuron_edges[low[i] + half - 1] <= column[i] else np.int32(0)
            left -= half
        for i in range(len(values)):
            bin_counts[low[i] + (1 if neuron_edges[low[i]] <= column[i] else 0)] += 1


def _spread(distance: np.ndarray, median: np.ndarray) -> np.ndarray:
    away = distance > 0
    mean_square = (distance**2).sum(0) / np.maximum(away.sum(0), 1)
    spread = np.sqrt(mean_square)
    return np.asarray(np.maximum(np.where(spread > 0, spread, 1e-6), np.abs(median) * 1e-5))


def _growing(count: int, total: float) -> np.ndarray:
    """Return `count` ascending numbers from 1 to `total` whose differences grow by a constant factor."""
    low, high = 1.0, 4.0
    for _ in range(80):
        factor = (low + high) / 2
        low, high = (factor, high) if np.sum(factor ** np.arange(count)) < total else (low, factor)
    return np.cumsum(low ** np.arange(count))
