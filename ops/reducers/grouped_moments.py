"""Count, mean and standard deviation of many values for each group of tokens, such as each token of a vocabulary."""

from dataclasses import dataclass

import numpy as np
import torch

from ops.arrays import Float64s, Int64s, Integers


class GroupedSums:
    """The sums of values and of their squares for each group: float64, of fixed size, the same bits on any device kind.

    Values of psi are float32 of the order of one, so their squares are exact in float64. The relative rounding error of
    a sum of n values is about sqrt(n) 1e-16. For up to n = 10^8 values in one group, the error of a standard deviation
    is below 1e-6. A new object is empty. There is no `merge`: the result's means and central sums are stored on disk
    instead, because they can be merged without this loss of precision.

    Args:
        groups: number of groups.
        columns: number of values of each token; the sums take 16 bytes for each group and column.
        device: the device that stores the sums.
    """

    def __init__(self, groups: int, columns: int, device: torch.device | str = "cpu") -> None:
        self.count = torch.zeros(groups, dtype=torch.int64, device=device)
        self.sums = torch.zeros(groups, 2, columns, dtype=torch.float64, device=device)

    def update(self, ids: torch.Tensor, values: torch.Tensor) -> None:
        """Add the values `[tokens, columns]` of tokens of these groups `[tokens]`.

        The values of equal groups are first grouped and summed in order, so that no two updates write to the same
        place.
        """
        if not len(ids):
            return
        order = torch.argsort(ids, stable=True)
        distinct, counts = torch.unique_consecutive(ids[order], return_counts=True)
        wide = values[order].double()
        both = torch.stack([wide, wide * wide], 1).flatten(1)
        added = torch.segment_reduce(both, "sum", lengths=counts, axis=0)
        self.count[distinct] += counts
        self.sums[distinct] += added.view(-1, *self.sums.shape[1:])

    def result(self) -> "GroupedMoments":
        """Return the moments of the groups seen so far."""
        seen = self.count.nonzero()[:, 0]
        count = self.count[seen].cpu().numpy()
        total, squares = (self.sums[seen, i].cpu().numpy() for i in (0, 1))
        mean = total / count[:, None]
        return GroupedMoments(seen.cpu().numpy(), count, mean, np.maximum(squares - mean * total, 0))


@dataclass(frozen=True)
class GroupedMoments:
    """The count `[groups]`, mean and central sum of squares `[groups, columns]` of the groups `ids` (ascending).

    It is a reducer over disjoint sets of sentences: `merge` joins two sets (Chan, Golub and LeVeque 1979), `empty` is
    neutral, and the result is the attributes. A batch is added as its moments `of` the values. If there are many groups
    or the values are on a GPU, `GroupedSums` collects batches faster and less precisely. In exact arithmetic `merge` is
    associative and commutative. Rounding depends on the order, so the same bits require the same order of merging.
    """

    ids: Int64s
    count: Int64s
    mean: Float64s
    m2: Float64s

    @classmethod
    def empty(cls, columns: int) -> "GroupedMoments":
        """Return the moments of no sentence."""
        none, nothing = np.zeros(0, np.int64), np.zeros((0, columns))
        return cls(none, none, nothing, nothing)

    @classmethod
    def of(cls, ids: Integers, values: torch.Tensor) -> "GroupedMoments":
        """Return the moments of the values `[tokens, columns]` of tokens of these groups `[tokens]`."""
        if not len(ids):
            return cls.empty(values.shape[1])
        groups, place, count = np.unique(ids, return_inverse=True, return_counts=True)
        order = torch.from_numpy(np.argsort(place, kind="stable"))
        wide, lengths = values[order].double(), torch.from_numpy(count)
        mean = torch.segment_reduce(wide, "sum", lengths=lengths, axis=0) / lengths[:, None]
        squares = (wide - mean.repeat_interleave(lengths, 0)) ** 2
        m2 = torch.segment_reduce(squares, "sum", lengths=lengths, axis=0)
        return cls(groups.astype(np.int64), count.astype(np.int64), mean.numpy(), m2.numpy())

    def merge(self, other: "GroupedMoments") -> "GroupedMoments":
        """Return the moments of the union of two disjoint sets of sentences."""
        ids = np.union1d(self.ids, other.ids)
        count = np.zeros(len(ids), np.int64)
        mean, m2 = np.zeros((len(ids), self.mean.shape[1])), np.zeros((len(ids), self.mean.shape[1]))
        own, place = np.searchsorted(ids, self.ids), np.searchsorted(ids, other.ids)
        count[own], mean[own], m2[own] = self.count, self.mean, self.m2
        before, total = count[place, None], count[place, None] + other.count[:, None]
        difference = other.mean - mean[place]
        m2[place] += other.m2 + difference**2 * (before * (other.count[:, None] / total))
        mean[place] += difference * (other.count[:, None] / total)
        count[place] += other.count
        return GroupedMoments(ids, count, mean, m2)

    def joined(self) -> "GroupedMoments":
        """Return the moments over all groups, as a single group with the id 0."""
        found = GroupedMoments.empty(self.mean.shape[1])
        for i in range(len(self.ids)):
            row = slice(i, i + 1)
            found = found.merge(GroupedMoments(np.zeros(1, np.int64), self.count[row], self.mean[row], self.m2[row]))
        return found

    @property
    def std(self) -> Float64s:
        """Standard deviation, ddof 0, `[groups, columns]`."""
        return np.asarray(np.sqrt(self.m2 / self.count[:, None]))
