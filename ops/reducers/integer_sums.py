"""The exact mean and standard deviation of an integer property of sentences, independent of their order."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Sums:
    """The sums behind a mean: the number `n` of sentences, the sum of their values, and the sum of the squares.

    It is a reducer over disjoint sets of sentences: `Sums()` is empty, `merge` adds, and the result is `mean` and
    `std`. The sums are integers, so `merge` is associative and commutative to the last bit, and `without` exactly
    subtracts a part.

    >>> sums = Sums.of([2, 4, 9]).without(Sums.of([9]))
    >>> sums.n, sums.mean, sums.std
    (2, 3.0, 1.0)
    """

    n: int = 0
    total: int = 0
    squares: int = 0

    @classmethod
    def of(cls, numbers: ArrayLike) -> "Sums":
        """Return the sums of one integer for each sentence, `[sentences]`, such as its number of words or verbs."""
        values = np.asarray(numbers, dtype=np.int64)
        return cls(values.size, int(values.sum()), int(values @ values))

    def merge(self, other: "Sums") -> "Sums":
        """Return the sums of the union of two disjoint sets of sentences."""
        return Sums(self.n + other.n, self.total + other.total, self.squares + other.squares)

    def without(self, part: "Sums") -> "Sums":
        """Return the sums without a part of the sentences, for example of the baseline without the winners."""
        return Sums(self.n - part.n, self.total - part.total, self.squares - part.squares)

    @property
    def mean(self) -> float:
        """The mean; NaN if there are no sentences."""
        return self.total / self.n if self.n else math.nan

    @property
    def std(self) -> float:
        """The standard deviation with ddof 0; NaN if there are no sentences."""
        return math.sqrt(self.n * self.squares - self.total * self.total) / self.n if self.n else math.nan
