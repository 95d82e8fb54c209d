"""What is kept of a stream of texts: mean and spread of many values by group, and histograms of cosines."""

from collections.abc import Iterable

import numpy as np
import torch

from ops.arrays import Float64s, Int64s
from ops.positions.compare import EDGES
from ops.reducers.histogram import Histogram
from ops.reducers.token_moments import TokenMoments, TokenSums

# What is grouped by what: cosines of tokens by class and by position, cosines of random pairs, what predicted tokens
# cost by position, perplexities of texts, and the input's norms by position.
CLASS, POSITION, PAIR, LOSS, TEXT, INPUT = "class", "position", "pair", "loss", "text", "input"
# What is only summed: the unit vectors of all tokens, and the cosines of the pairs within a text with their number.
UNITS, WITHIN = "units", "within"
Key = tuple[str, str]


class Sums:
    """Sums by kind and variant as batches come, on one device; `result` is what shards are merged by."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = device
        self._sums: dict[Key, TokenSums] = {}
        self._histograms: dict[Key, Histogram] = {}
        self._totals: dict[Key, Float64s] = {}

    def add(self, kind: str, variant: str, groups: torch.Tensor, values: torch.Tensor, most: int) -> None:
        """Add values.

        Args:
            kind, variant: which sums.
            groups: the group of each row, `[rows]` int64, below `most`.
            values: `[rows, columns]` float32.
            most: number of groups.
        """
        if (kind, variant) not in self._sums:
            self._sums[kind, variant] = TokenSums(most, values.shape[1], self.device)
        self._sums[kind, variant].update(groups, values)

    def count(self, kind: str, variant: str, cosines: torch.Tensor) -> None:
        """Count cosines `[rows, columns]` into histograms, one a column."""
        if (kind, variant) not in self._histograms:
            edges = EDGES.to(self.device).expand(cosines.shape[1], -1).contiguous()
            self._histograms[kind, variant] = Histogram(edges)
        self._histograms[kind, variant].update(cosines.contiguous())

    def total(self, kind: str, variant: str, values: Float64s) -> None:
        """Add up values of a fixed number, `[columns]` float64."""
        self._totals[kind, variant] = self._totals.get((kind, variant), 0.0) + values

    def result(self) -> "Totals":
        """Return what was summed so far."""
        moments = {key: sums.result() for key, sums in self._sums.items()}
        counts = {key: h.result().cpu().numpy() for key, h in self._histograms.items()}
        return Totals(moments, counts, dict(self._totals))


class Totals:
    """Moments by group, counts `[columns, bins]` int64 and sums `[columns]` float64, by kind and variant.

    A reducer of disjoint sets of texts: `Totals()` is empty, `merge` joins two. Counts are whole; moments and sums are
    merged exactly but for rounding, which depends on the order.
    """

    def __init__(
        self,
        moments: dict[Key, TokenMoments] | None = None,
        counts: dict[Key, Int64s] | None = None,
        sums: dict[Key, Float64s] | None = None,
    ) -> None:
        self.moments, self.counts, self.sums = moments or {}, counts or {}, sums or {}

    def merge(self, other: "Totals") -> "Totals":
        """Return the totals of two disjoint sets of texts together."""
        moments, counts, sums = dict(self.moments), dict(self.counts), dict(self.sums)
        for key, found in other.moments.items():
            moments[key] = moments[key].merge(found) if key in moments else found
        for key, count in other.counts.items():
            counts[key] = counts[key] + count if key in counts else count
        for key, total in other.sums.items():
            sums[key] = sums[key] + total if key in sums else total
        return Totals(moments, counts, sums)

    def variants(self, kind: str, order: Iterable[str]) -> list[str]:
        """Return the variants that have moments of a kind, in this order."""
        return [variant for variant in order if (kind, variant) in self.moments]


def all_groups(moments: TokenMoments) -> TokenMoments:
    """Return the moments of all groups together, as one of the number 0."""
    whole = TokenMoments.empty(moments.mean.shape[1])
    for i in range(len(moments.ids)):
        own = TokenMoments(
            np.zeros(1, np.int64), moments.count[i : i + 1], moments.mean[i : i + 1], moments.m2[i : i + 1]
        )
        whole = whole.merge(own)
    return whole
