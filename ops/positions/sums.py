"""Sums over a stream of texts: mean and spread of many values by group, and histograms of cosines."""

from collections.abc import Iterable

import torch

from ops.arrays import Float64s, Int64s
from ops.positions.compare import EDGES
from ops.reducers.grouped_moments import GroupedMoments, GroupedSums
from ops.reducers.histogram import Histogram

# The kinds of grouped values: cosines of tokens by class and by position, cosines of random pairs, losses of predicted
# tokens by position, perplexities of texts, and the input's norms by position.
CLASS, POSITION, PAIR, LOSS, TEXT, INPUT = "class", "position", "pair", "loss", "text", "input"
# The kinds of sums without groups: the unit vectors of all tokens, and the cosines and number of pairs within a text.
UNITS, WITHIN = "units", "within"
Key = tuple[str, str]


class Sums:
    """Sums by kind and variant over batches on one device; `result` returns totals that can be merged over shards."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = device
        self._sums: dict[Key, GroupedSums] = {}
        self._histograms: dict[Key, Histogram] = {}
        self._totals: dict[Key, Float64s] = {}

    def add(self, kind: str, variant: str, groups: torch.Tensor, values: torch.Tensor, most: int) -> None:
        """Add values.

        Args:
            kind, variant: the kind and the variant of the values.
            groups: the group of each row, `[rows]` int64, below `most`.
            values: the values, `[rows, columns]` float32.
            most: number of groups.
        """
        if (kind, variant) not in self._sums:
            self._sums[kind, variant] = GroupedSums(most, values.shape[1], self.device)
        self._sums[kind, variant].update(groups, values)

    def count(self, kind: str, variant: str, cosines: torch.Tensor) -> None:
        """Count cosines, `[rows, columns]`, in one histogram for each column."""
        if (kind, variant) not in self._histograms:
            edges = EDGES.to(self.device).expand(cosines.shape[1], -1).contiguous()
            self._histograms[kind, variant] = Histogram(edges)
        self._histograms[kind, variant].update(cosines.contiguous())

    def total(self, kind: str, variant: str, values: Float64s) -> None:
        """Add an array of values, `[columns]` float64, to the sum of this kind and variant."""
        self._totals[kind, variant] = self._totals.get((kind, variant), 0.0) + values

    def result(self) -> "Totals":
        """Return the totals so far."""
        moments = {key: sums.result() for key, sums in self._sums.items()}
        counts = {key: h.result().cpu().numpy() for key, h in self._histograms.items()}
        return Totals(moments, counts, dict(self._totals))


class Totals:
    """Moments by group, counts `[columns, bins]` int64 and sums `[columns]` float64, by kind and variant.

    Totals of disjoint sets of texts can be combined: `Totals()` is empty, and `merge` joins two. Counts are integers.
    Moments and sums are merged exactly except for rounding, which depends on the order.
    """

    def __init__(
        self,
        moments: dict[Key, GroupedMoments] | None = None,
        counts: dict[Key, Int64s] | None = None,
        sums: dict[Key, Float64s] | None = None,
    ) -> None:
        self.moments, self.counts, self.sums = moments or {}, counts or {}, sums or {}

    def merge(self, other: "Totals") -> "Totals":
        """Return the totals of the union of two disjoint sets of texts."""
        moments, counts, sums = dict(self.moments), dict(self.counts), dict(self.sums)
        for key, found in other.moments.items():
            moments[key] = moments[key].merge(found) if key in moments else found
        for key, count in other.counts.items():
            counts[key] = counts[key] + count if key in counts else count
        for key, total in other.sums.items():
            sums[key] = sums[key] + total if key in sums else total
        return Totals(moments, counts, sums)

    def variants(self, kind: str, order: Iterable[str]) -> list[str]:
        """Return the variants in `order` that have moments of this kind."""
        return [variant for variant in order if (kind, variant) in self.moments]
