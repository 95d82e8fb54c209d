"""How much of a finding in one data set holds in another: transfer, with its interval and verdict."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm  # type: ignore[import-untyped]

from ops.arrays import Bools, Float64s, Int32s, Int64s
from ops.statistics.false_discovery import q_values
from ops.statistics.interval import UNDEFINED, Interval
from ops.statistics.resampling import percentile_interval

HOLDS = 0.5  # minimum transfer into a data set at which the other data sets' cards hold there
RATE = 0.05  # false discovery rate over a neuron's data sets


@dataclass(frozen=True)
class Precisions:
    """Average precisions of cards that were learned in one part of the corpus and tested in another.

    The last axis contains the value of the sample itself, followed by those of its bootstrap samples. Undefined values
    are NaN.

    Attributes:
        own: average precision of the card learned from a part's winners, `[from, to, 1 + samples]`.
        random: average precision of the card of a random set of the same size and lengths, tested on the same winners.
        documents: number of documents of the test half that have baseline sentences in each part, `[D]`.
        group: the group of each part; only pairs within a group are compared, `[D]`.
    """

    own: Float64s
    random: Float64s
    documents: Int64s
    group: Int32s

    @property
    def gain(self) -> Float64s:
        """Return the average precision of the cards minus that of random sets' cards, `[from, to, 1 + samples]`."""
        return self.own - self.random

    @property
    def pairs(self) -> Bools:
        """Return which pairs of parts can be compared.

        Both the gain of the card and the gain of the tested part's own card must be known.
        """
        gain = self.gain[:, :, 0]
        known = np.isfinite(gain) & np.isfinite(np.diagonal(gain))[None, :]
        apart = ~np.eye(len(self.group), dtype=np.bool_) & (self.group[:, None] == self.group[None, :])
        return np.asarray(known & apart)

    def transfer(self, pairs: Bools) -> Interval:
        """Return the transfer over pairs: the gain of cards learned elsewhere divided by that of the parts' own cards.

        It is a ratio of two sums over all these pairs and not a mean of ratios, so that no pair has to be excluded
        because of a small denominator. It is undefined if the interval of the denominator contains 0, because then
        there is nothing to transfer.
        """
        if not pairs.any():
            return UNDEFINED
        gain = self.gain
        own = np.broadcast_to(np.moveaxis(np.diagonal(gain), -1, 0)[None, :, :], gain.shape)
        above, below = gain[pairs].sum(0), own[pairs].sum(0)
        clusters = int(self.documents[pairs.any(0)].sum())
        denominator = interval(below, clusters)
        if not (denominator.low > 0 or denominator.high < 0):
            return UNDEFINED
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = above / below
        return interval(ratio, clusters)

    def into(self) -> list[Interval]:
        """Return the transfer of all other parts' cards into each part."""
        pairs = self.pairs
        return [self.transfer(pairs & (np.arange(len(self.group)) == to)[None, :]) for to in range(len(self.group))]

    def beats_random(self) -> Bools:
        """Return for which parts the part's own card is better than the random set's card, `[D]`.

        In each part the gain divided by its bootstrap standard deviation is treated as normal. Of the findings in all
        parts, at most 5 % are expected to be false (Benjamini and Hochberg 1995).
        """
        gain = np.diagonal(self.gain).T
        known = np.isfinite(gain[:, 0])
        found = np.zeros(len(gain), np.bool_)
        if known.any():
            found[known] = significantly_above(gain[known, 0], np.nanstd(gain[known, 1:], 1))
        return found


def significantly_above(values: Float64s, errors: Float64s) -> Bools:
    """Return which values are above 0 at a false discovery rate of 5 %, given their standard errors, `[n]`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(errors > 0, values / errors, np.where(values > 0, np.inf, 0.0))
    return np.asarray((q_values(2 * norm.sf(np.abs(z))) <= RATE) & (values > 0))


def interval(drawn: Float64s, clusters: int) -> Interval:
    """Return a statistic with its 95 % interval.

    Args:
        drawn: the statistic of the sample, followed by its value in each bootstrap sample, `[1 + samples]`.
        clusters: number of documents that were resampled.
    """
    return percentile_interval(drawn, max(clusters, 1), -math.inf, math.inf)
