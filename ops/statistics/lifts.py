"""How much more often winners have a literal than other sentences, in each data set and over all of them."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc  # type: ignore[import-untyped]

from ops.arrays import Bools, Float64s, Int32s
from ops.statistics.false_discovery import significantly_above
from ops.statistics.interval import UNDEFINED, Interval, t_quantile


@dataclass(frozen=True)
class Counted:
    """Counts of sentences with and without a literal, by document.

    Attributes:
        hits, winners: number of winners with the literal, and of all winners, `[documents]`.
        others, rest: number of other sentences with the literal, and of all other sentences, `[documents]`.
        part: the data set of each document, from 0 to D - 1, `[documents]`.
        usable: which data sets have enough winners, `[D]`.
    """

    hits: Float64s
    winners: Float64s
    others: Float64s
    rest: Float64s
    part: Int32s
    usable: Bools

    def sums(self, values: Float64s) -> Float64s:
        """Return the sums of values of documents, `[D]`."""
        return np.asarray(np.bincount(self.part, values, len(self.usable)), np.float64)


@dataclass(frozen=True)
class Lifts:
    """A literal's lifts over D data sets.

    Attributes:
        log_lift: log of the lift within each data set, `[D]`. It is NaN if no sentence of the data set has the literal,
            or if the data set has too few winners or nothing but winners.
        low, high: ends of the 95 % interval of `log_lift`, `[D]`.
        significant: whether the lift is above 1, at a false discovery rate of 5 % over the data sets, `[D]`.
        q, q_p: Cochran's Q of the log lifts, and its p-value; NaN for fewer than two data sets.
        i2: share of Q beyond what is expected by chance; NaN like Q.
        mantel_haenszel: the lift over all data sets, in which each data set's winners are compared only with other
            sentences of the same data set.
    """

    log_lift: Float64s
    low: Float64s
    high: Float64s
    significant: Bools
    q: float
    q_p: float
    i2: float
    mantel_haenszel: Interval


def lifts(counted: Counted) -> Lifts:
    """Return a literal's lift in each data set, how much these lifts differ, and the lift over all data sets.

    One sentence with the literal is added to each data set, so that a literal that is rare in a data set does not get
    an extreme lift. This sentence is divided among winners and others in proportion to their numbers (Sweeting and
    others 2004).

    The log lift is linearised by document, with Student's t distribution. If the error computed from the counts, with
    half a sentence added to each cell, is larger, it is used instead: if no winner has the literal, for example, the
    documents do not differ.

    The lift over all data sets is that of Mantel and Haenszel (1959), a ratio of sums. The error of its log is
    linearised too, with the data sets' weights fixed, or that of Greenland and Robins (1985) if the latter is larger.
    """
    a, n1, c, n2 = (counted.sums(counts) for counts in (counted.hits, counted.winners, counted.others, counted.rest))
    usable = counted.usable & (n1 > 0) & (n2 > 0)
    if not usable.any():
        unknown = np.full(len(usable), np.nan)
        nowhere = np.zeros(len(usable), np.bool_)
        return Lifts(unknown, unknown, unknown, nowhere, math.nan, math.nan, math.nan, UNDEFINED)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = n1 + n2
        share, other_share = (a + n1 / total) / n1, (c + n2 / total) / n2
        value = np.log(share / other_share)
        by_counts = np.sqrt(1 / (a + 0.5) - 1 / (n1 + 1) + 1 / (c + 0.5) - 1 / (n2 + 1))
        weight = np.where(usable, n1 * n2 / total, 0.0)
        above, below = np.nansum(weight * share), np.nansum(weight * other_share)
        # What each document adds to the two shares of its data set.
        of_share = (counted.hits - (a / n1)[counted.part] * counted.winners) / n1[counted.part]
        of_other = (counted.others - (c / n2)[counted.part] * counted.rest) / n2[counted.part]
        sizes = np.stack([counted.sums(counts**2) for counts in (counted.winners, counted.rest)])
        freedom = np.maximum(np.minimum(*(np.stack((n1, n2)) ** 2 / sizes)) - 1, 1)
        documents = counted.sums((counted.winners > 0).astype(np.float64))
        correction = documents / np.maximum(documents - 1, 1)
        effects = of_share / share[counted.part] - of_other / other_share[counted.part]
        error = np.maximum(np.sqrt(correction * counted.sums(effects**2)), by_counts)
        effects = weight[counted.part] * (of_share / above - of_other / below)
    variance = float((correction * counted.sums(np.nan_to_num(effects) ** 2)).sum())
    pooled = _mantel_haenszel(a[usable], n1[usable], c[usable], n2[usable], above / below, above * below, variance,
                              float(freedom[usable].sum()))  # fmt: skip
    known = usable & (a + c > 0)
    value, error = np.where(known, value, np.nan), np.where(known, error, np.nan)
    significant = np.zeros(len(a), np.bool_)
    if known.any():
        significant[known] = significantly_above(value[known], error[known], freedom[known])
    half = np.where(known, t_quantile(freedom), np.nan) * error
    return Lifts(value, value - half, value + half, significant, *_heterogeneity(value[known], error[known]), pooled)


def _heterogeneity(value: Float64s, error: Float64s) -> tuple[float, float, float]:
    """Return Cochran's Q, its p-value and I2 (Higgins and Thompson 2002)."""
    free = len(value) - 1
    if free < 1:
        return math.nan, math.nan, math.nan
    weight = 1 / np.maximum(error, 1e-12) ** 2
    mean = (weight * value).sum() / weight.sum()
    q = float((weight * (value - mean) ** 2).sum())
    return q, float(chdtrc(free, q)), max(0.0, (q - free) / q) if q > 0 else 0.0


def _mantel_haenszel(
    a: Float64s, n1: Float64s, c: Float64s, n2: Float64s, ratio: float, product: float, variance: float, freedom: float
) -> Interval:
    """Return a ratio of sums with its interval, given their product and the variance of the ratio's log by document."""
    total = n1 + n2
    a, c = a + n1 / total, c + n2 / total
    by_counts = float((((a + c) * n1 * n2 / total - a * c) / total).sum()) / product
    half = float(t_quantile(freedom)) * math.sqrt(max(variance, by_counts, 0.0))
    value = math.log(ratio)
    return Interval(ratio, math.exp(value - half), math.exp(value + half))
