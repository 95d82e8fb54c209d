"""How far out in the corpus's distribution activations are: from histograms, and exactly among the winners."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float32s, Float64s, Floats, Int32s, Int64s
from ops.storage.open_tables import OpenTables
from ops.topk.neurons import Neurons
from ops.topk.silent import is_silent, largest_by_layer

_COLUMNS = (
    "layer", "mean", "std", "min", "max", "histogram_edges", "histogram_counts", "top_threshold", "bottom_threshold",
)  # fmt: skip

OUTER = 0.01  # units with a tail of at most this are outer units


@dataclass(frozen=True)
class Distributions:
    """The distribution of each unit's activations over the scored sentences of a corpus.

    Attributes:
        sentences: the number of scored sentences, N.
        sparse: whether units are features, whose activations are mostly 0 and never negative.
        mean, std: of each unit, `[units]`.
        ends: where the bins of the histograms begin and end as far as there are sentences, strictly ascending,
            `[units, bins + 1]`.
        above: the number of sentences in each bin and those after it, `[units, bins + 1]`.
        thresholds: the activation of each unit's last winner by pole, `[units]`; infinite, below all activations at
            the top and above all at the bottom, where there are fewer winners than may be.
        silent: which units are silent, `[units]`.
    """

    sentences: int
    sparse: bool
    mean: Float64s
    std: Float64s
    ends: Float32s
    above: Int64s
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
        # A bin has a width, so that sentences at its lower edge are counted too if it begins at the largest activation.
        for at in range(1, ends.shape[1]):
            ends[:, at] = np.maximum(ends[:, at], np.nextafter(ends[:, at - 1], np.float32(np.inf)))
        return cls(sentences, sparse, mean, std, ends, above, thresholds, silent)

    def at_least(self, values: Float32s, units: slice) -> Float64s:
        """Return how many sentences have at least these activations of some units, each `[rows, units]`.

        Counts are interpolated within a bin.
        """
        of_units = zip(values.T, self.ends[units], self.above[units], strict=True)
        return np.stack([np.interp(unit_values, ends, above) for unit_values, ends, above in of_units], axis=1)

    def tails_of_sentences(self, values: Float32s, units: slice) -> Float64s:
        """Return the signed tails of sentences of the corpus, each without itself; arguments as for `at_least`."""
        count = np.maximum(self.at_least(values, units), 1.0)
        tails = signed_tails(count - 1, self.sentences - count, self.sentences - 1, self.sparse)
        return self.known(tails, values, units)

    def known(self, tails: Float64s, values: Float32s, units: slice) -> Float64s:
        """Return tails with NaN for silent units and for inactive features."""
        unknown = np.broadcast_to(self.silent[units], tails.shape)
        return np.where(unknown | (values <= 0) if self.sparse else unknown, np.nan, tails)


def is_outer(tails: Float64s) -> Bools:
    """Return which signed tails are at most `OUTER`."""
    return np.asarray(np.abs(tails) <= OUTER)


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


def places_among_winners(
    tables: OpenTables, neurons: Neurons, values: Float32s, sentences: Sequence[int], pole: str, threshold: Float32s
) -> tuple[tuple[Int64s, Int64s], Int32s, Int64s]:
    """Return where activations that lie beyond a pole's last winner are among its winners, without own sentences.

    Args:
        values: the texts' activations, `[texts, units]`.
        sentences: the id of the corpus sentence that each text is, or -1, `[texts]`.
        threshold: the activation of each unit's last winner, `[units]`.

    Returns:
        The indices of these activations in `values`, and for each of them the rank (1 plus the number of winners
        beyond it) and the number of winners at least as far out. Other sentences may be as far out as the last winner.
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
            others = height[winners][ids[winners] != sentences[text[pair]]]
            value = sign * values[text[pair], unit[pair]]
            rank[pair] = 1 + np.count_nonzero(others > value)
            reached[pair] = np.count_nonzero(others >= value)
    return (text, unit), rank, reached
