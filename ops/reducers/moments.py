"""Mean, standard deviation, skewness and kurtosis of every neuron, merged without losing precision."""

from dataclasses import dataclass

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
        own = slice(first, stop)
        mean, m2, m3, m4 = self.mean[own], self.m2[own], self.m3[own], self.m4[own]
        return Moments(self.n, mean, m2, m3, m4, self.min[own], self.max[own])

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of the union of two disjoint sets of sentences."""
        a, b = self.n, other.n
        if not a or not b:
            return other if not a else self
        n = a + b
        d = other.mean - self.mean
        return Moments(
            n,
            self.mean + d * b / n,
            self.m2 + other.m2 + d**2 * a * b / n,
            self.m3 + other.m3 + d**3 * a * b * (a - b) / n**2 + 3 * d * (a * other.m2 - b * self.m2) / n,
            self.m4
            + other.m4
            + d**4 * a * b * (a * a - a * b + b * b) / n**3
            + 6 * d**2 * (a * a * other.m2 + b * b * self.m2) / n**2
            + 4 * d * (a * other.m3 - b * self.m3) / n,
            np.minimum(self.min, other.min),
            np.maximum(self.max, other.max),
        )

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
