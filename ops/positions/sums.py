"""Sums over a stream of texts: mean and spread of many values by group, and histograms of cosines."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import torch

from ops.arrays import Arrays, Float64s
from ops.positions.similarity import EDGES
from ops.reducers.grouped_moments import GroupedMoments, GroupedSums
from ops.reducers.histogram import Histogram
from ops.storage.arrays import named_arrays, named_records

# The kinds of grouped values: cosines of tokens by class and by position, cosines of random pairs, losses of predicted
# tokens by position, perplexities of texts, and the input's norms by position.
CLASS, POSITION, PAIR, LOSS, TEXT, INPUT = "class", "position", "pair", "loss", "text", "input"
# The kinds of sums without groups: the unit vectors of all tokens, and the cosines and number of pairs within a text.
UNITS, WITHIN = "units", "within"
Key = tuple[str, str]  # a kind, and the variant of its values
T = TypeVar("T")


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
            groups: the group of each row, `[rows]` int64, below `most`.
            values: the values, `[rows, columns]` float32.
        """
        if (kind, variant) not in self._sums:
            self._sums[kind, variant] = GroupedSums(most, values.shape[1], self.device)
        self._sums[kind, variant].update(groups, values)

    def add_ungrouped(self, kind: str, variant: str, values: torch.Tensor) -> None:
        """Add values, `[rows, columns]`, that belong to one group."""
        self.add(kind, variant, torch.zeros(len(values), dtype=torch.int64, device=values.device), values, 1)

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
        """Return the totals so far, without the moments of kinds and variants that have no values."""
        moments = {key: sums.result() for key, sums in self._sums.items()}
        counts = {key: histogram.result().cpu().numpy() for key, histogram in self._histograms.items()}
        return Totals({key: own for key, own in moments.items() if len(own.ids)}, {**counts, **self._totals})


@dataclass(frozen=True)
class Totals:
    """Moments by group, and arrays that are summed, by kind and variant.

    Totals of disjoint sets of texts can be combined: `Totals()` is empty, and `merge` joins two. Counts are integers.
    Moments and sums are merged exactly except for rounding, which depends on the order.

    Attributes:
        moments: the moments of grouped values.
        sums: sums without groups `[columns]` float64; for cosines, their histograms `[columns, bins]` int64.
    """

    moments: dict[Key, GroupedMoments] = field(default_factory=dict)
    sums: dict[Key, Arrays] = field(default_factory=dict)

    def merge(self, other: "Totals") -> "Totals":
        """Return the totals of the union of two disjoint sets of texts."""
        moments = _joined(self.moments, other.moments, GroupedMoments.merge)
        return Totals(moments, _joined(self.sums, other.sums, lambda one, another: one + another))

    def to_arrays(self) -> dict[str, Arrays]:
        """Return the totals as arrays, whose names consist of the kind, the variant and the attribute of moments."""
        arrays = {"/".join(key): values for key, values in self.sums.items()}
        return arrays | named_arrays({"/".join(key): own for key, own in self.moments.items()})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Arrays]) -> "Totals":
        """Return the totals from the arrays of `to_arrays`."""
        sums, fields = ({n: own for n, own in arrays.items() if n.count("/") == slashes} for slashes in (1, 2))
        moments = named_records(GroupedMoments, fields)
        return cls({_key(name): own for name, own in moments.items()}, {_key(name): own for name, own in sums.items()})

    def variants(self, kind: str, order: Iterable[str]) -> list[str]:
        """Return the variants in `order` that have moments of this kind."""
        return [variant for variant in order if (kind, variant) in self.moments]


def _key(name: str) -> Key:
    kind, variant = name.split("/")
    return kind, variant


def _joined(one: dict[Key, T], other: dict[Key, T], join: Callable[[T, T], T]) -> dict[Key, T]:
    return one | {key: join(one[key], value) if key in one else value for key, value in other.items()}
