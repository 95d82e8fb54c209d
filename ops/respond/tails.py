"""How far out in the corpus's distribution activations are: from histograms, and exactly among the winners."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float32s, Float64s, Floats, Int8s, Int32s, Int64s
from ops.compiled import compiled
from ops.storage.open_tables import OpenTables
from ops.topk.neurons import Neurons
from ops.topk.silent import is_silent, largest_by_layer

_COLUMNS = (
    "layer", "mean", "std", "min", "max", "histogram_edges", "histogram_counts", "top_threshold", "bottom_threshold",
)  # fmt: skip

MIDDLE = 0.1  # activations with a larger tail are in the middle


@dataclass(frozen=True)
class Distributions:
    """The distribution of each unit's activations over the scored sentences of a corpus.

    Attributes:
        sentences: the number of scored sentences, N.
        sparse: whether units are features, whose activations are mostly 0 and never negative.
        mean, std: of each unit, `[units]`.
        edges: the inner edges of the histograms, `[units, bins - 1]`.
        ends: where the bins begin and end as far as there are sentences, strictly ascending, `[units, bins + 1]`.
        above: the number of sentences in each bin and those after it, `[units, bins + 1]`.
        middle: every activation between these has a tail of more than `MIDDLE`, `[2, units]`.
        thresholds: the activation of each unit's last winner by pole, `[units]`; infinite, below all activations at
            the top and above all at the bottom, where there are fewer winners than may be.
        silent: which units are silent, `[units]`.
    """

    sentences: int
    sparse: bool
    mean: Float64s
    std: Float64s
    edges: Float32s
    ends: Float32s
    above: Int64s
    middle: Float32s
    thresholds: dict[str, Float32s]
    silent: Bools

    @classmethod
    def read(
        cls, tables: OpenTables, neurons: Neurons, sentences: int, k: int, poles: Sequence[str], sparse: bool
    ) -> "Distributions":
        """Return the distributions in neurons/; `k` is the most winners of a unit and pole."""
        table = tables.read("neurons", None, list(_COLUMNS)).combine_chunks()
        layer, mean, std, low, high = (table[name].to_numpy() for name in _COLUMNS[:5])
        edges, counts = (
            table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(len(table), -1)
            for name in _COLUMNS[5:7]
        )
        above = np.zeros((len(table), counts.shape[1] + 1), np.int64)
        above[:, :-1] = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        has_all = (above[:, 1] if sparse else above[:, 0]) >= k
        none = {"top": -np.inf, "bottom": np.inf}
        thresholds = {
            pole: np.where(has_all, table[f"{pole}_threshold"].to_numpy(), none[pole]).astype(np.float32)
            for pole in poles
        }
        silent = is_silent(layer, std, largest_by_layer(layer, low, high, neurons), neurons.first)
        ends = np.clip(np.column_stack([low, edges, high]), low[:, None], high[:, None])
        ends = _ascending(ends)
        middle = _middle(above, ends, sparse)
        return cls(sentences, sparse, mean, std, edges, ends, above, middle, thresholds, silent)

    def at_least(self, values: Float32s, units: slice) -> Float64s:
        """Return how many sentences have at least these activations, interpolated within a bin, `[rows, units]`.

        Args:
            values: activations of the units, `[rows, units]`.
            units: the indices of the units.
        """
        found = np.empty(values.shape)
        _at_least(values, self.edges[units], self.above[units], self.ends[units], found)
        return found

    def add_sentences(self, values: Float32s, units: slice, outer: float, outers: Int64s, smallest: Float64s) -> Int8s:
        """Count the outer units of sentences of the corpus, and keep their smallest tails, given some of their units.

        Each sentence is left out of the corpus: its tails are the `signed_tails` of what `at_least` counts without it.

        Args:
            values, units: as for `at_least`.
            outer: the largest tail of an outer unit.
            outers: the numbers of outer units so far, `[rows]`; they are added to.
            smallest: the smallest tails so far, ascending, `[rows, kept]`; infinity where there are fewer.

        Returns:
            1 where an activation is in the upper outer part, -1 where it is in the lower, otherwise 0; `[rows, units]`.
        """
        flags = np.empty(values.shape, np.int8)
        _add_sentences(
            values, self.edges[units], self.above[units], self.ends[units], self.middle[:, units], self.silent[units],
            self.sparse, self.sentences, outer, outers, smallest, flags,
        )  # fmt: skip
        return flags

    def known(self, tails: Float64s, values: Float32s, units: slice) -> Float64s:
        """Return tails with NaN for silent units and for inactive features."""
        unknown = np.broadcast_to(self.silent[units], tails.shape)
        return np.where(unknown | (values <= 0) if self.sparse else unknown, np.nan, tails)


def _ascending(ends: Float32s) -> Float32s:
    """Return ends of bins, each moved up by rounding where it is not above the end before, `[units, bins + 1]`."""
    for at in range(1, ends.shape[1]):
        ends[:, at] = np.maximum(ends[:, at], np.nextafter(ends[:, at - 1], np.float32(np.inf)))
    return ends


def _middle(above: Int64s, ends: Float32s, is_sparse: bool) -> Float32s:
    """Return for each unit two ends of bins between which every tail is above `MIDDLE`, `[2, units]`."""
    unit, sentences = np.arange(len(above)), above[:, :1]
    enough = (MIDDLE if is_sparse else MIDDLE / 2) * sentences + 1
    from_below = (sentences - above[:, 1:] > enough).argmax(1)
    from_above = above.shape[1] - 2 - (above[:, :-1] > enough)[:, ::-1].argmax(1)
    low = np.full(len(unit), -np.inf, np.float32) if is_sparse else ends[unit, from_below + 1]
    return np.stack([low, ends[unit, from_above]])


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
        reached: the number of winners at least as far out. Other sentences may be as far out as the last winner.
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
def _count(value: Any, edges: Float32s, above: Int64s, ends: Float32s) -> Any:
    """Return how many sentences of a unit have at least an activation, interpolated within its bin."""
    at, stop = 0, len(edges)
    while at < stop:
        middle = (at + stop) // 2
        if edges[middle] <= value:
            at = middle + 1
        else:
            stop = middle
    part = min(max((ends[at + 1] - value) / (ends[at + 1] - ends[at]), 0.0), 1.0)
    return above[at + 1] + part * (above[at] - above[at + 1])


@compiled
def _at_least(values: Float32s, edges: Float32s, above: Int64s, ends: Float32s, found: Float64s) -> None:
    for row in range(values.shape[0]):
        for unit in range(values.shape[1]):
            found[row, unit] = _count(values[row, unit], edges[unit], above[unit], ends[unit])


@compiled
def _add_sentences(
    values: Float32s, edges: Float32s, above: Int64s, ends: Float32s, middle: Float32s, silent: Bools, is_sparse: bool,
    sentences: int, outer: float, outers: Int64s, smallest: Float64s, flags: Int8s,
) -> None:  # fmt: skip
    last = smallest.shape[1] - 1
    for row in range(values.shape[0]):
        own = smallest[row]
        for unit in range(values.shape[1]):
            flags[row, unit] = 0
            value = values[row, unit]
            # Most activations are in the middle, where the tail is above MIDDLE, so their place does not matter.
            if silent[unit] or (middle[0, unit] < value < middle[1, unit] and own[last] <= MIDDLE):
                continue
            if is_sparse and value <= 0:
                continue
            count = max(_count(value, edges[unit], above[unit], ends[unit]), 1.0)  # the sentence itself is left out
            up, down = count / sentences, (1 + sentences - count) / sentences
            tail = up if is_sparse else min(2 * min(up, down), 1.0)
            if tail <= outer:
                outers[row] += 1
                flags[row, unit] = 1 if is_sparse or up <= down else -1
            if tail < own[last]:
                at = last
                while at and own[at - 1] > tail:
                    own[at] = own[at - 1]
                    at -= 1
                own[at] = tail
