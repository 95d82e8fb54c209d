"""Mean, standard deviation, skewness and kurtosis of every neuron, merged without losing precision."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ops.arrays import Float32s, Float64s


@dataclass(frozen=True)
class Moments:
    """The count, mean and central power sums (float64) and the extremes (float32) of each neuron, `[neurons]`.

    It is a reducer over disjoint sets of sentences: `merge` joins two sets (Pébay 2008, equations 1.1 to 1.4), `update`
    adds a block of activations, `empty` is neutral, and the result is the attributes. In exact arithmetic `merge` is
    associative and commutative. Rounding depends on the order, so the same bits require the same order of merging.
    """

    n: int
    mean: Float64s
    m2: Float64s
    m3: Float64s
    m4: Float64s
    min: Float32s
    max: Float32s

    @classmethod
    def empty(cls, neurons: int) -> "Moments":
        """Return the moments of no sentence."""
        zero = np.zeros(neurons)
        inf = np.full(neurons, np.inf, np.float32)
        return cls(0, zero, zero, zero, zero, inf, -inf)

    @classmethod
    def of(cls, values: torch.Tensor) -> "Moments":
        """Return the moments of a block of activations `[sentences, neurons]` float32."""
        if not len(values):
            return cls.empty(values.shape[1])
        wide = values.double()
        mean = wide.mean(0)
        centred = wide - mean
        square = centred * centred
        sums = (square.sum(0), (square * centred).sum(0), (square * square).sum(0))
        m2, m3, m4 = (s.cpu().numpy() for s in sums)
        low, high = values.amin(0).cpu().numpy(), values.amax(0).cpu().numpy()
        return cls(len(values), mean.cpu().numpy(), m2, m3, m4, low, high)

    def update(self, values: torch.Tensor) -> "Moments":
        """Return the moments that also include a block of activations, `[sentences, neurons]` float32."""
        return self.merge(Moments.of(values))

    def of_neurons(self, first: int, stop: int) -> "Moments":
        """Return the moments of the neurons from `first` to `stop` - 1."""
        neurons = slice(first, stop)
        mean, m2, m3, m4 = self.mean[neurons], self.m2[neurons], self.m3[neurons], self.m4[neurons]
        return Moments(self.n, mean, m2, m3, m4, self.min[neurons], self.max[neurons])

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of the union of two disjoint sets of sentences."""
        a, b = self.n, other.n
        if not a or not b:
            return other if not a else self
        own, others = ((one.mean, one.m2, one.m3, one.m4) for one in (self, other))
        low, high = np.minimum(self.min, other.min), np.maximum(self.max, other.max)
        return Moments(a + b, *_merged(a, own, b, others, a + b), low, high)

    @property
    def std(self) -> Float64s:
        """Standard deviation, ddof 0."""
        return np.sqrt(self.m2 / max(self.n, 1))

    @property
    def skew(self) -> Float64s:
        """Skewness without bias correction; NaN if all values of a neuron are equal."""
        return self._standardised(self.m3, 3)

    @property
    def kurtosis(self) -> Float64s:
        """Excess kurtosis without bias correction; NaN if all values of a neuron are equal."""
        return self._standardised(self.m4, 4) - 3

    def _standardised(self, power_sum: Float64s, power: int) -> Float64s:
        varies = self.min < self.max
        spread = np.where(varies, self.std, 1.0) ** power
        return np.where(varies, power_sum / max(self.n, 1) / spread, np.nan)


class QueuedMoments:
    """The moments of the sentences seen so far, float64, computed in a GPU's queue, so that no batch waits for them.

    A new object is empty; `update` adds a block, and `result` returns the moments. Rounding depends on the blocks and
    their order, so the same bits require the same blocks. There is no `merge`, because the results can be merged.
    """

    def __init__(self, neurons: int, device: torch.device | str = "cpu") -> None:
        self.n = torch.zeros((), dtype=torch.float64, device=device)
        self.sums: tuple[Any, ...] = torch.zeros(4, neurons, dtype=torch.float64, device=device).unbind()
        self.min = torch.full((neurons,), torch.inf, dtype=torch.float32, device=device)
        self.max = -self.min

    def update(self, values: torch.Tensor, counted: torch.Tensor) -> None:
        """Add activations `[sentences, neurons]` float32 of the sentences that `counted` marks, `[sentences]` bool."""
        here = counted[:, None]
        wide = values.masked_fill(~here, 0.0).double()
        n = counted.sum(dtype=torch.float64)
        mean = wide.sum(0) / n.clamp_min(1.0)
        centred = (wide - mean).masked_fill_(~here, 0.0)
        square = centred * centred
        added = (mean, square.sum(0), (square * centred).sum(0), (square * square).sum(0))
        self.sums = _merged(self.n, self.sums, n, added, (self.n + n).clamp_min(1.0))
        self.min = torch.minimum(self.min, values.masked_fill(~here, torch.inf).amin(0))
        self.max = torch.maximum(self.max, values.masked_fill(~here, -torch.inf).amax(0))
        self.n = self.n + n

    def result(self) -> Moments:
        """Return the moments; this waits for the device."""
        mean, m2, m3, m4 = (own.cpu().numpy() for own in self.sums)
        return Moments(int(self.n), mean, m2, m3, m4, self.min.cpu().numpy(), self.max.cpu().numpy())


def _merged(a: Any, one: tuple[Any, ...], b: Any, other: tuple[Any, ...], n: Any) -> tuple[Any, Any, Any, Any]:
    """Return the mean and the central power sums of `a` and `b` sentences together, n, as arrays or as tensors."""
    mean, m2, m3, m4 = one
    other_mean, other_m2, other_m3, other_m4 = other
    d = other_mean - mean
    return (
        mean + d * b / n,
        m2 + other_m2 + d**2 * a * b / n,
        m3 + other_m3 + d**3 * a * b * (a - b) / n**2 + 3 * d * (a * other_m2 - b * m2) / n,
        m4
        + other_m4
        + d**4 * a * b * (a * a - a * b + b * b) / n**3
        + 6 * d**2 * (a * a * other_m2 + b * b * m2) / n**2
        + 4 * d * (a * other_m3 - b * m3) / n,
    )
