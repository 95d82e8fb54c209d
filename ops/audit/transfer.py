"""How much of a finding in one data set holds in another: transfer, with its interval and verdict."""

import math
from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Float64s, Int32s, Int64s
from ops.statistics.false_discovery import significantly_above
from ops.statistics.interval import UNDEFINED, Interval, t_quantile

HOLDS = 0.5  # minimum transfer into a data set at which the other data sets' cards hold there


@dataclass(frozen=True)
class Precisions:
    """Average precisions of cards that were learned in one part of the corpus and tested in another.

    Undefined values are NaN. Documents of different parts are independent.

    Attributes:
        values: average precision of the cards learned from a part's winners, and of the cards of a random set of the
            same size and lengths, both tested on the same winners, `[2, from, to]`.
        errors: their standard errors, by document, `[2, from, to]`.
        products: the covariances of the gains of two parts' cards in a part, `[to, from, from]`.
        documents: number of documents with winners in each part, `[D]`.
        freedom: degrees of freedom of each part: the number of equally large documents, minus 1, `[D]`.
        group: the group of each part; only pairs within a group are compared, `[D]`.
    """

    values: Float64s
    errors: Float64s
    products: Float64s
    documents: Int64s
    freedom: Float64s
    group: Int32s

    @property
    def gain(self) -> Float64s:
        """Return the average precision of the cards minus that of random sets' cards, `[from, to]`."""
        return np.asarray(self.values[0] - self.values[1])

    @property
    def least_error(self) -> Float64s:
        """Return the smallest standard error of a precision or a gain in each part, `[D]`: half a document's weight.

        If all winners are found equally well, the sample shows no spread, but that does not mean that there is none.
        """
        return 0.5 / (self.documents + 1)

    @property
    def pairs(self) -> Bools:
        """Return which pairs of parts can be compared: the gains of the cards and of the tested part are known."""
        known = np.isfinite(self.gain) & np.isfinite(np.diagonal(self.gain))[None, :]
        apart = ~np.eye(len(self.group), dtype=np.bool_) & (self.group[:, None] == self.group[None, :])
        return np.asarray(known & apart)

    def interval(self, which: int, start: int, to: int) -> Interval:
        """Return an average precision: of the winners' cards (0) or of the random set's (1)."""
        value = float(self.values[which, start, to])
        error = max(self.errors[which, start, to], self.least_error[to])
        half = float(t_quantile(self.freedom[to]) * error)
        return UNDEFINED if math.isnan(value) else Interval(value, max(value - half, 0.0), min(value + half, 1.0))

    def transfer(self, pairs: Bools) -> Interval:
        """Return the transfer over pairs: the gain of cards learned elsewhere divided by that of the parts' own cards.

        It is a ratio of two sums over all these pairs and not a mean of ratios, so that no pair has to be excluded
        because of a small denominator. The interval is that of Fieller (1954). It is undefined unless the denominator
        is significantly above 0, because otherwise there is nothing to transfer.
        """
        times = pairs.sum(0)
        if not times.any():
            return UNDEFINED
        above = float(self.gain[pairs].sum())
        below = float((times * np.nan_to_num(np.diagonal(self.gain))).sum())
        of_above = of_below = of_both = 0.0
        for to in np.flatnonzero(times).tolist():
            products, chosen = self.products[to], pairs[:, to].astype(np.float64)
            of_above += chosen @ products @ chosen
            of_below += times[to] ** 2 * products[to, to]
            of_both += times[to] * chosen @ products[:, to]
        least = float(((times * self.least_error) ** 2)[times > 0].sum())
        square = float(t_quantile(self.freedom[times > 0].sum())) ** 2
        return _fieller(above, below, square * max(of_above, least), square * max(of_below, least), square * of_both)

    def into(self) -> list[Interval]:
        """Return the transfer of all other parts' cards into each part."""
        pairs = self.pairs
        return [self.transfer(pairs & (np.arange(len(self.group)) == to)[None, :]) for to in range(len(self.group))]

    def beats_random(self) -> Bools:
        """Return for which parts the part's own card is better than the random set's card, `[D]`.

        In each part the gain divided by its standard error has Student's t distribution. Of the findings in all parts,
        at most 5 % are expected to be false (Benjamini and Hochberg 1995).
        """
        gain = np.diagonal(self.gain)
        known = np.isfinite(gain)
        better = np.zeros(len(gain), np.bool_)
        if known.any():
            error = np.maximum(np.sqrt([matrix[to, to] for to, matrix in enumerate(self.products)]), self.least_error)
            better[known] = significantly_above(gain[known], error[known], self.freedom[known])
        return better


def _fieller(above: float, below: float, of_above: float, of_below: float, of_both: float) -> Interval:
    """Return the ratio of two numbers with its interval, given their variances and covariance, times t squared."""
    first = below**2 - of_below
    if below <= 0 or first <= 0:
        return UNDEFINED
    middle = above * below - of_both
    reach = math.sqrt(max(middle**2 - first * (above**2 - of_above), 0.0))
    return Interval(above / below, (middle - reach) / first, (middle + reach) / first)
