"""How far out in the corpus's distribution activations are: from histograms, and exactly among the winners."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float32s, Float64s, Floats, Int32s, Int64s
from ops.compiled import compiled
from ops.storage.open_tables import OpenTables
from ops.topk.neurons import Neurons
from ops.topk.silent import is_silent, largest_by_layer

_COLUMNS = (
    "layer", "mean", "std", "min", "max", "histogram_edges", "histogram_counts", "top_threshold", "bottom_threshold",
)  # fmt: skip


@dataclass(frozen=True)
class Distributions:
    """The distribution of each unit's activations over the scored sentences of a corpus.

    Attributes:
        sentences: the number of scored sentences, N.
        sparse: whether units are features, whose activations are mostly 0 and never negative.
        mean, std, low, high: of each unit, `[units]`.
        edges: the inner edges of the histograms, `[units, bins - 1]`.
        above: the number of sentences in each bin and those after it, `[units, bins + 1]`.
        thresholds: the activation of each unit's last winner by pole, `[units]`; NaN without winners.
        silent: which units are silent, `[units]`.
    """

    sentences: int
    sparse: bool
    mean: Float64s
    std: Float64s
    low: Float32s
    high: Float32s
    edges: Float32s
    above: Int64s
    thresholds: dict[str, Float32s]
    silent: Bools

    @classmethod
    def read(
        cls, tables: OpenTables, neurons: Neurons, sentences: int, poles: Sequence[str], sparse: bool
    ) -> "Distributions":
        """Return the distributions in neurons/."""
        table = tables.read("neurons", None, list(_COLUMNS)).combine_chunks()
        layer, mean, std, low, high = (table[name].to_numpy() for name in _COLUMNS[:5])
        edges, counts = (
            table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(len(table), -1)
            for name in _COLUMNS[5:7]
        )
        above = np.zeros((len(table), counts.shape[1] + 1), np.int64)
        above[:, :-1] = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        thresholds = {pole: table[f"{pole}_threshold"].to_numpy() for pole in poles}
        silent = is_silent(layer, std, largest_by_layer(layer, low, high, neurons), neurons.first)
        return cls(sentences, sparse, mean, std, low, high, edges, above, thresholds, silent)

    def at_least(self, values: Float32s, units: slice) -> Float64s:
        """Return how many sentences have at least these activations, interpolated within a bin, `[rows, units]`.

        Args:
            values: activations of the units, `[rows, units]`.
            units: the indices of the units.
        """
        found = np.empty(values.shape)
        _at_least(values, self.edges[units], self.above[units], self.low[units], self.high[units], found)
        return found

    def tails(self, values: Float32s, units: slice, is_own: Bools) -> Float64s:
        """Return the signed tails of activations from the histograms, `[rows, units]` (see `signed_tails`).

        Args:
            values, units: as for `at_least`.
            is_own: which rows are sentences of the corpus, which are left out of it, `[rows]`.
        """
        own = is_own[:, None]
        count = self.at_least(values, units)
        higher = np.maximum(count - own, 0.0)
        return self.known(signed_tails(higher, self.sentences - count, self.sentences - own, self.sparse), values, units)

    def known(self, tails: Float64s, values: Float32s, units: slice) -> Float64s:
        """Return tails with NaN for silent units and for inactive features."""
        unknown = np.broadcast_to(self.silent[units], tails.shape)
        return np.where(unknown | (values <= 0) if self.sparse else unknown, np.nan, tails)


def signed_tails(higher: Floats, lower: Floats, sentences: Floats | Int64s | int, upper_only: bool = False) -> Float64s:
    """Return twice the smaller share of sentences at least as far out, at most 1; negative at the lower end.

    Each share is (1 + sentences at least as far) / (1 + sentences), so that it is never 0.

    Args:
        higher, lower: the numbers of sentences with an activation at least as high, and at most as high.
        sentences: the number of sentences.
        upper_only: return the upper share alone, not doubled.

    >>> signed_tails(np.array([1.0, 97.0, 50.0]), np.array([97.0, 1.0, 49.0]), 99).tolist()
    [0.04, -0.04, -1.0]
    """
    up, down = (1 + higher) / (1 + sentences), (1 + lower) / (1 + sentences)
    if upper_only:
        return np.asarray(up)
    return np.asarray(np.where(up <= down, np.minimum(2 * up, 1.0), -np.minimum(2 * down, 1.0)))


@dataclass(frozen=True)
class ExactPlaces:
    """The exact places of activations that lie beyond a pole's last winner, `[pairs]` each.

    Attributes:
        text, unit: the index of the text, and of the unit among all units.
        rank: 1 plus the number of winners beyond the activation.
        reached: the number of winners at least as far out.
    """

    text: Int64s
    unit: Int64s
    rank: Int32s
    reached: Int64s


def exact_places(
    tables: OpenTables, neurons: Neurons, values: Float32s, own: Sequence[int], pole: str, threshold: Float32s
) -> ExactPlaces:
    """Return the exact places of activations among the winners of a pole, without the texts' own sentences.

    Args:
        tables, neurons: the run's tables and units.
        values: the texts' activations, `[texts, units]`.
        own: the id of the corpus sentence that a text is, or -1, `[texts]`.
        pole: the pole.
        threshold: the activation of each unit's last winner, `[units]`.
    """
    sign = np.float32(1 if pole == "top" else -1)
    unit, text = np.nonzero((sign * values >= sign * threshold).T)
    rank, reached = np.empty(len(unit), np.int32), np.empty(len(unit), np.int64)
    for layer in neurons.layers:
        first, stop = neurons.span(layer)
        pairs = range(*np.searchsorted(unit, [first, stop]).tolist())
        if not pairs:
            continue
        here = pc.field("unit").isin(pa.array(np.unique(unit[pairs.start : pairs.stop]) - first, pa.int32()))
        where = (pc.field("layer") == layer) & (pc.field("pole") == pole) & here
        rows = tables.read("topk", where, ["unit", "activation", "sent_id"])
        units, height, ids = rows["unit"].to_numpy(), sign * rows["activation"].to_numpy(), rows["sent_id"].to_numpy()
        for pair in pairs:
            winners = slice(*np.searchsorted(units, [unit[pair] - first, unit[pair] - first + 1]))
            others = height[winners][ids[winners] != own[text[pair]]]
            value = sign * values[text[pair], unit[pair]]
            rank[pair] = 1 + np.count_nonzero(others > value)
            reached[pair] = np.count_nonzero(others >= value)
    return ExactPlaces(text, unit, rank, reached)


@compiled
def _at_least(
    values: Float32s, edges: Float32s, above: Int64s, low: Float32s, high: Float32s, found: Float64s
) -> None:
    for row in range(values.shape[0]):
        for unit in range(values.shape[1]):
            value, own = values[row, unit], edges[unit]
            first, stop = 0, len(own)  # bins up to `first` begin at or below the value
            while first < stop:
                middle = (first + stop) // 2
                if own[middle] <= value:
                    first = middle + 1
                else:
                    stop = middle
            left = low[unit] if first == 0 else max(own[first - 1], low[unit])
            right = high[unit] if first == len(own) else min(own[first], high[unit])
            part = 1.0
            if value >= right > left:
                part = 0.0
            elif right > left:
                part = min((right - value) / (right - left), 1.0)
            elif value > high[unit]:
                part = 0.0
            count = above[unit, first + 1]
            found[row, unit] = count + part * (above[unit, first] - count)
