"""The area under the ROC curve for winners against similar other sentences, with intervals by document."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ops.arrays import Float32s, Float64s, Int64s, Integers
from ops.compiled import compiled
from ops.statistics.interval import UNDEFINED, Interval
from ops.statistics.wilson import Z, wilson

RESAMPLES = 250
CORRELATION = 0.5  # assumed between the areas of the two halves of a set
LEAST_DOCUMENTS = 10  # minimum number of the winners' documents for the interval of a difference
_COLUMNS = 1_024  # number of documents whose weights are drawn at once


@dataclass(frozen=True)
class LikeArea:
    """The area under the ROC curve for winners against similar other sentences, and each document's contribution.

    Attributes:
        auc: the sum of `gain` divided by the sum of `winners`. It is NaN if no winner has a similar other sentence.
        documents: the documents of the compared sentences, ascending, `[documents]`.
        gain: what each document contributes, `[documents]` (see `like_area`).
        winners: number of compared winners in each document, `[documents]`.
    """

    auc: float
    documents: Int64s
    gain: Float64s
    winners: Float64s


class Resamples:
    """Bootstrap samples of documents: how often each sample contains each document, Poisson-distributed with mean 1.

    The samples depend only on the seed and on the number of documents, so they are the same in every process. The
    samples of two sets of documents are not independent: the i-th documents of both sets are drawn equally often.

    Args:
        *seed: the seed of all draws.
    """

    def __init__(self, *seed: int) -> None:
        self._seed = seed
        self._weights = np.zeros((RESAMPLES, 0), np.float32)

    def weights(self, documents: int) -> Float32s:
        """Return how often each sample contains each of `documents` documents, `[RESAMPLES, documents]`."""
        blocks = [self._weights]
        for block in range(self._weights.shape[1] // _COLUMNS, -(-documents // _COLUMNS)):
            rng = np.random.default_rng([*self._seed, block])
            blocks.append(rng.poisson(1.0, (RESAMPLES, _COLUMNS)).astype(np.float32))
        if len(blocks) > 1:
            self._weights = np.concatenate(blocks, 1)
        return self._weights[:, :documents]


def like_area(
    winners: Float64s, others: Float64s, first: Int64s, stop: Int64s, documents: Integers, other_documents: Integers
) -> LikeArea:
    """Return the area under the ROC curve for winners against other sentences that are weighted to match them.

    Each winner distributes a weight of 1 evenly over the other sentences that match it. The area is the probability
    that a random winner has a higher value than another sentence drawn with these weights; ties count half.

    A document's gain is the first-order effect of its sentences on the area. It is the sum of these terms:

        winner i:          B_i + M_i - area
        other sentence j:  the sum of (A_j - M_i) / c_i over the winners i that it matches

    B_i is the weighted share of the other sentences below winner i, and A_j is the share of the winners above other
    sentence j. Winner i has c_i matches, and M_i is the mean of A_j over them. An interval that is computed from these
    gains excludes differences that are due only to the kind of sentence that a winner is, as the area itself does.

    Args:
        winners, others: the values of the winners and of the other sentences, `[n]` and `[m]`.
        first, stop: `others[first[i]:stop[i]]` match winner i, `[n]`; a winner without a match is skipped.
        documents, other_documents: the document of each winner and of each other sentence, `[n]` and `[m]` int.

    Raises:
        ValueError: a value is NaN.

    >>> all_alike = np.array([0, 0, 0]), np.array([2, 2, 2])
    >>> like_area(np.array([3.0, 2, 2]), np.array([1.0, 2]), *all_alike, np.arange(3), np.arange(2)).auc
    0.8333333333333334
    """
    if np.isnan(winners).any() or np.isnan(others).any():
        raise ValueError("like_area: a value is NaN")
    own = stop > first
    if not own.any():
        return LikeArea(math.nan, np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    auc, gain, other_gain = _gains(winners[own], others, first[own].astype(np.int64), stop[own].astype(np.int64))
    both = np.concatenate([np.asarray(documents)[own], other_documents]).astype(np.int64)
    names, place = np.unique(both, return_inverse=True)
    return LikeArea(
        float(auc),
        names,
        np.asarray(np.bincount(place, np.concatenate([gain, other_gain]), len(names)), np.float64),
        np.bincount(place[: len(gain)], minlength=len(names)).astype(np.float64),
    )


def pooled(parts: Sequence[LikeArea]) -> LikeArea:
    """Return the mean area of the halves of a set, each scored by what the other half taught, weighted by winners.

    What the halves have in common by chance raises both areas: those of random sets correlate by 0.25 on 12,000
    sentences, and by more on fewer, so that intervals for independent halves held the truth in 87 to 93 % of cases.
    Each document's gain is therefore moved away from the area as far as a correlation of 0.5 makes it vary.
    """
    known = [part for part in parts if len(part.documents)]
    if not known:
        return parts[0]
    auc = np.average([part.auc for part in known], weights=[part.winners.sum() for part in known])
    documents = np.concatenate([part.documents for part in known])
    gain, winners = np.concatenate([[part.gain, part.winners] for part in known], 1)
    gain = auc * winners + (gain - auc * winners) * math.sqrt(1 + CORRELATION)
    order = np.argsort(documents)
    return LikeArea(float(auc), documents[order], gain[order], winners[order])


def intervals(areas: Sequence[LikeArea], resamples: Resamples) -> tuple[list[Interval], Interval]:
    """Return the areas, and the first area minus the second, each with its 95 % interval by document.

    All areas are recomputed on the same bootstrap samples of documents. The interval of an area is Wilson's (1927), for
    the number of observations at which a share would have the bootstrap's variance. For an area of 0 or 1, the number
    of documents with winners is used instead. With fewer than two such documents the interval is NaN.

    The interval of the difference extends 1.96 bootstrap standard errors to each side. If the winners of either of the
    two sets come from fewer than `LEAST_DOCUMENTS` documents, the difference is NaN, because so few documents say
    little about the spread.

    Args:
        areas: the areas, at least two.
        resamples: the bootstrap samples of documents.
    """
    known = [one for one in areas if len(one.documents)]
    every = np.unique(np.concatenate([np.zeros(0, np.int64), *(one.documents for one in known)]))
    sums = np.zeros((len(every), 2 * len(areas)), np.float32)
    for number, one in enumerate(areas):
        rows = np.searchsorted(every, one.documents)
        sums[rows, 2 * number], sums[rows, 2 * number + 1] = one.gain, one.winners
    drawn = (resamples.weights(len(every)) @ sums).astype(np.float64)
    # A sample without any winner is ignored. With ten documents, one sample in 20,000 has none.
    with np.errstate(invalid="ignore", divide="ignore"):
        again = np.where(drawn[:, 1::2] > 0, drawn[:, ::2] / drawn[:, 1::2], np.nan)
    counts = [int(np.count_nonzero(one.winners)) for one in areas]
    found = [_with_interval(one.auc, again[:, i], counts[i]) for i, one in enumerate(areas)]
    if min(counts[:2]) < LEAST_DOCUMENTS:
        return found, UNDEFINED
    excess = areas[0].auc - areas[1].auc
    half = Z * _spread(again[:, 0] - again[:, 1])
    return found, Interval(excess, excess - half, excess + half)


def _with_interval(auc: float, again: Float64s, documents: int) -> Interval:
    if documents < 2:
        return Interval(auc, math.nan, math.nan)
    variance = _spread(again) ** 2
    if auc in (0.0, 1.0):
        return wilson(auc, documents)
    return wilson(auc, auc * (1 - auc) / variance) if variance > 0 else Interval(auc, auc, auc)


def _spread(values: Float64s) -> float:
    known = values[~np.isnan(values)]
    return float(known.std()) if len(known) else 0.0


@compiled
def _gains(winners: Float64s, others: Float64s, first: Int64s, stop: Int64s) -> tuple[float, Float64s, Float64s]:
    """Return the area, and the term of each winner and of each other sentence, as defined in `like_area`.

    The sum of all terms, divided by the number of winners, is the area. Every winner must have a match.
    """
    n, m = winners.size, others.size
    weight = np.zeros(m + 1)
    for i in range(n):
        share = 1.0 / (stop[i] - first[i])
        weight[first[i]] += share
        weight[stop[i]] -= share
    weight = np.cumsum(weight)
    # The weighted share of other sentences below each winner, and the share of winners above each other sentence, one
    # group of ties at a time.
    order, own_order = np.argsort(others), np.argsort(winners)
    above, gain = np.empty(m), np.ones(n)
    below, at, own = 0.0, 0, 0
    while at < m:
        value, level, end = others[order[at]], 0.0, at
        while end < m and others[order[end]] == value:
            level += weight[order[end]]
            end += 1
        while own < n and winners[own_order[own]] < value:
            gain[own_order[own]] = below / n
            own += 1
        lower = own
        while own < n and winners[own_order[own]] == value:
            gain[own_order[own]] = (below + level / 2) / n
            own += 1
        for place in range(at, end):
            above[order[place]] = (n - (lower + own) / 2) / n
        below += level
        at = end
    auc = gain.mean()
    # A winner also adds its matches to the comparison, so the mean share of winners above these matches is added.
    sums = np.zeros(m + 1)
    for place in range(m):
        sums[place + 1] = sums[place] + above[place]
    means = np.zeros(m + 1)
    for i in range(n):
        count = stop[i] - first[i]
        mean = (sums[stop[i]] - sums[first[i]]) / count
        gain[i] += mean - auc
        means[first[i]] += mean / count
        means[stop[i]] -= mean / count
    means = np.cumsum(means)
    return auc, gain, above * weight[:m] - means[:m]
