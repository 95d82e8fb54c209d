"""Whether winners have a literal more often than other sentences in every data set, or only in some of them."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2  # type: ignore[import-untyped]

from ops.arrays import Bools, Float64s
from ops.audit.transfer import significantly_above
from ops.statistics.interval import UNDEFINED, Interval
from ops.statistics.wilson import Z

GLOBAL, LOCAL, DATASET, NONE = "global", "local", "dataset", "none"
MOST_I2, LEAST_DATASETS = 0.5, 3  # maximum I2 and minimum number of data sets of a global literal


@dataclass(frozen=True)
class Counted:
    """Counts of the test sentences of D data sets, with and without a literal, in the sample and its bootstrap samples.

    Attributes:
        hits, winners: number of winners with the literal, and of all winners, `[D, 1 + samples]`.
        others, rest: number of other sentences with the literal, and of all other sentences, `[D, 1 + samples]`.
    """

    hits: Float64s
    winners: Float64s
    others: Float64s
    rest: Float64s


@dataclass(frozen=True)
class Lifts:
    """A literal's lifts over D data sets.

    Attributes:
        log_lift: log of the lift within each data set, `[D]`. It is NaN if no sentence of the data set has the literal,
            or if the data set has no winners or nothing but winners.
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

    def verdict(self, overall: float) -> str:
        """Return the verdict on a literal, by the first of these rules that applies.

        1. `global`: the Mantel-Haenszel lift is significantly above 1, I2 is below 0.5, and the lift is significant in
           at least 3 data sets.
        2. `local`: the lift is significant in at least one data set.
        3. `dataset`: the lift with all data sets pooled is above 1, but the interval of the Mantel-Haenszel lift
           contains 1.
        4. `none` in all other cases.

        Args:
            overall: the lift with all data sets pooled.
        """
        i2 = 0.0 if math.isnan(self.i2) else self.i2
        found = int(self.significant.sum())
        if self.mantel_haenszel.low > 1 and i2 < MOST_I2 and found >= LEAST_DATASETS:
            return GLOBAL
        if found:
            return LOCAL
        within = self.mantel_haenszel
        return DATASET if overall > 1 and within.low <= 1 <= within.high else NONE


def lifts(counted: Counted) -> Lifts:
    """Return a literal's lift in each data set, how much these lifts differ, and the lift over all data sets.

    One sentence with the literal is added to each data set, so that a literal that is rare in a data set does not get
    an extreme lift. This sentence is divided among winners and others in proportion to their numbers (Sweeting and
    others 2004).

    The standard error of a log lift is estimated by a bootstrap over documents. If the error computed from the counts,
    with half a sentence added to each cell, is larger, it is used instead. If no winner has the literal, for example,
    the bootstrap samples do not differ.

    The lift over all data sets is that of Mantel and Haenszel (1959), a ratio of sums. The error of its log is that of
    the bootstrap, or that of Greenland and Robins (1985) if the latter is larger.
    """
    a, n1, c, n2 = counted.hits, counted.winners, counted.others, counted.rest
    with np.errstate(divide="ignore", invalid="ignore"):
        total = n1 + n2
        more_a, more_c = a + n1 / total, c + n2 / total
        share, other_share = more_a / n1, more_c / n2
        log_lift = np.log(share[:, 0]) - np.log(other_share[:, 0])
        above, below = more_a * n2 / total, more_c * n1 / total
    usable = (n1[:, 0] > 0) & (n2[:, 0] > 0)
    asked = usable & (a[:, 0] + c[:, 0] > 0)
    error = np.full(len(a), np.nan)
    if asked.any():
        error[asked] = np.maximum(_spread(share[asked], other_share[asked]), _by_counts(counted, asked))
    value = np.where(asked, log_lift, np.nan)
    significant = np.zeros(len(a), np.bool_)
    if asked.any():
        significant[asked] = significantly_above(value[asked], error[asked])
    q, q_p, i2 = _heterogeneity(value[asked], error[asked])
    pooled = UNDEFINED
    if usable.any():
        pooled = _mantel_haenszel(counted, usable, np.nansum(above[usable], 0), np.nansum(below[usable], 0))
    return Lifts(value, value - Z * error, value + Z * error, significant, q, q_p, i2, pooled)


def _spread(above: Float64s, below: Float64s) -> Float64s:
    """Return the standard error of the log of a ratio, `[n]`; 0 if the ratio is defined in no bootstrap sample.

    The log is linearised, because the log of small counts, some of which are near 0 in a bootstrap sample, would vary
    more than the statistic does.

    Args:
        above, below: numerator and denominator in the sample, followed by those in its bootstrap samples,
            `[n, 1 + samples]`.
    """
    drawn = (above / above[:, :1] - below / below[:, :1])[:, 1:]
    finite = np.where(np.isfinite(drawn), drawn, np.nan)
    known = np.isfinite(finite).any(1)
    found = np.zeros(len(drawn))
    found[known] = np.nanstd(finite[known], 1)
    return found


def _by_counts(counted: Counted, which: Bools) -> Float64s:
    a, n1, c, n2 = (of[which, 0] for of in (counted.hits, counted.winners, counted.others, counted.rest))
    return np.asarray(np.sqrt(1 / (a + 0.5) - 1 / (n1 + 1) + 1 / (c + 0.5) - 1 / (n2 + 1)))


def _heterogeneity(value: Float64s, error: Float64s) -> tuple[float, float, float]:
    """Return Cochran's Q, its p-value and I2 (Higgins and Thompson 2002)."""
    free = len(value) - 1
    if free < 1:
        return math.nan, math.nan, math.nan
    weight = 1 / np.maximum(error, 1e-12) ** 2
    mean = (weight * value).sum() / weight.sum()
    q = float((weight * (value - mean) ** 2).sum())
    return q, float(chi2.sf(q, free)), max(0.0, (q - free) / q) if q > 0 else 0.0


def _mantel_haenszel(counted: Counted, usable: Bools, above: Float64s, below: Float64s) -> Interval:
    a, n1, c, n2 = (of[usable, 0] for of in (counted.hits, counted.winners, counted.others, counted.rest))
    total = n1 + n2
    a, c = a + n1 / total, c + n2 / total
    variance = (((a + c) * n1 * n2 / total - a * c) / total).sum() / (above[0] * below[0])
    error = max(float(_spread(above[None], below[None])[0]), math.sqrt(max(variance, 0.0)))
    value = math.log(above[0] / below[0])
    return Interval(math.exp(value), math.exp(value - Z * error), math.exp(value + Z * error))
