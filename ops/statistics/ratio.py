"""Ratios of sums over documents, and their differences, with intervals that count each document as one observation."""

import math
from dataclasses import dataclass

import numpy as np

from ops.arrays import Float64s, Int64s
from ops.statistics.interval import LEAST_ERROR, Interval, t_quantile, wilson

LEAST_DOCUMENTS = 10  # for an interval


@dataclass(frozen=True)
class Ratio:
    """A ratio of two sums over documents, linearised: the effect of each document on it is added up.

    Attributes:
        value: the ratio; NaN if the lower sum is 0.
        documents: the codes of the documents that contribute to a sum, ascending, `[D]`.
        effects: the first-order effect of each of them on the ratio, `[D]`; their sum is 0 but for `more` (see `of`).
        freedom: degrees of freedom: the number of equally large documents that would vary as much, minus 1.
        hit: what a hit adds to the upper sum, if a miss adds 1 to the lower one: 2 for an F1.
    """

    value: float
    documents: Int64s
    effects: Float64s
    freedom: float
    hit: float = 1.0

    @classmethod
    def of(
        cls, documents: Int64s, above: Float64s, below: Float64s, more: float = 0.0, hit: float = 1.0
    ) -> "Ratio":  # fmt: skip
        """Return the ratio of the sum of `above` to the sum of `below` and `more`.

        Args:
            documents: the codes of documents, distinct and ascending, `[D]`.
            above, below: what each document adds to the two sums, `[D]`.
            more: what is added to the lower sum beyond all documents.
            hit: see the attribute.
        """
        total = float(below.sum()) + more
        if not total > 0:
            return cls(math.nan, documents[:0], below[:0], 0.0)
        kept, value = (below > 0) | (above != 0), float(above.sum()) / total
        squares = float((below**2).sum())
        freedom = float(below.sum()) ** 2 / squares - 1 if squares else 0.0
        return cls(value, documents[kept], ((above - value * below) / total)[kept], max(freedom, 1.0), hit)

    def interval(self) -> Interval:
        """Return the ratio with its 95 % interval within 0 and 1; without ends if there are fewer than 10 documents."""
        value, low, high = self.minus(0.0)
        return Interval(value, max(low, 0.0), min(high, 1.0))

    def minus(self, other: "Ratio | float") -> Interval:
        """Return the difference to another ratio, which may share documents, or to a number, with its 95 % interval.

        If all n documents of a share are alike, its interval is Wilson's (1927) for n observations. The upper end of a
        share of 0 is then z^2 / (n + z^2), as if z^2 more documents were all hits. With these an F1 of 0 would become
        2 z^2 / (n + 2 z^2), which is the upper end for n / 2 observations.
        """
        of_other, freedom = (other.value, other.freedom) if isinstance(other, Ratio) else (other, 0.0)
        value, (error, documents) = self.value - of_other, self.error(other)
        if math.isnan(value) or documents < LEAST_DOCUMENTS:
            return Interval(value, math.nan, math.nan)
        if error < LEAST_ERROR and self.value <= 1 and not isinstance(other, Ratio):
            _, low, high = wilson(self.value, documents if self.value else documents / self.hit)
            return Interval(value, low - other, high - other)
        half = float(t_quantile(min(self.freedom, freedom or self.freedom))) * error
        return Interval(value, value - half, value + half)

    def error(self, other: "Ratio | float") -> tuple[float, int]:
        """Return the standard error of the difference to another ratio or a number, and how many documents it is from.

        With fewer than two documents the error is NaN.
        """
        effects, documents = self.effects, len(self.documents)
        if isinstance(other, Ratio):
            names, index = np.unique(np.concatenate((self.documents, other.documents)), return_inverse=True)
            documents = len(names)
            both = np.concatenate((effects, -other.effects))
            effects = np.asarray(np.bincount(index, both, documents), np.float64)
        if documents < 2:
            return math.nan, documents
        return math.sqrt(documents / (documents - 1) * float((effects**2).sum())), documents
