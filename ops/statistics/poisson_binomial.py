"""How surprising a number of hits is if each draw has its own probability."""

import numpy as np
from scipy.special import log_ndtr, ndtri_exp  # type: ignore[import-untyped]

from ops.arrays import Bools, Float64s, Int64s
from ops.compiled import compiled

# Maximum number of steps for the exact distribution of one number of hits. If it takes more, the normal approximation
# is used.
MOST_STEPS = 1_000_000


def chance_of_hits(chances: Float64s, offsets: Int64s, hits: Int64s, design_effect: Float64s) -> Float64s:
    """Return the two-sided p-values `[n] float64` of numbers of hits that are listed because they are at least 1.

    A number of hits follows a Poisson-binomial distribution: it is a sum of independent draws, each with its own
    probability. The p-value is twice the smaller of the two tails. The tails are exact or, for large numbers, those of
    the normal approximation with a continuity correction. The normal quantile of the tail is divided by the square root
    of the design effect. The p-value is then divided by the probability of at least one hit, computed in the same way
    (as in `selected_p_values`), and capped at 1.

    Args:
        chances: the probability of every draw, above 0 and at most 1, for one number of hits after the other.
        offsets: number of hits i has the draws `chances[offsets[i]:offsets[i + 1]]`, `[n + 1]`.
        hits: the numbers of hits, at least 1 and at most the number of draws, `[n]`.
        design_effect: the design effect of each number of hits, `[n]`.

    >>> two_of_three = np.array([0.1, 0.2, 0.1]), np.array([0, 3]), np.array([2]), np.ones(1)
    >>> chance_of_hits(*two_of_three).round(4).tolist()  # 2 (0.044 + 0.002) / 0.352
    [0.2614]
    """
    upper, lower, none = _log_tails(chances, offsets, hits)
    root = np.sqrt(design_effect)
    # The smaller tail as a quantile. Both tails exceed a half if the number of hits is the median.
    away = np.maximum(-ndtri_exp(np.minimum(upper, lower)), 0.0)
    any_hit = np.log(-np.expm1(none))
    with np.errstate(invalid="ignore"):
        listed = log_ndtr(np.where(any_hit < 0, ndtri_exp(any_hit), np.inf) / root)
        log_p = np.log(2.0) + log_ndtr(-np.where(np.isinf(root), 0.0, away) / root) - listed
    return np.where(np.isinf(root), 1.0, np.exp(np.minimum(log_p, 0.0)))


def log_upper_tails(chances: Float64s, offsets: Int64s, hits: Int64s) -> Float64s:
    """Return the log probability of at least as many hits, `[n] float64`, given the arguments of `chance_of_hits`.

    Here a chance may be 0.

    >>> log_upper_tails(np.array([0.1, 0.2, 0.1]), np.array([0, 3]), np.array([2])).round(4).tolist()  # log(0.046)
    [-3.0791]
    """
    return _log_tails(chances, offsets, hits)[0]


def one_sided(log_tails: Float64s, design_effect: Float64s) -> Float64s:
    """Return the p-values `[n] float64` of upper tails with a design effect, which divides the tail's normal quantile.

    The quantile is divided by the square root of the effect; an infinite effect gives a p-value of 1. In contrast to
    `chance_of_hits`, the p-value is not divided by the probability of being listed.

    Args:
        log_tails: the log probabilities of the tails, as `log_upper_tails` returns them.
        design_effect: the design effects, at least 1, `[n]`.
    """
    root = np.sqrt(design_effect)
    away = -ndtri_exp(log_tails)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(root), 1.0, np.exp(log_ndtr(-away / root)))


def _log_tails(chances: Float64s, offsets: Int64s, hits: Int64s) -> tuple[Float64s, Float64s, Float64s]:
    """Return the log probabilities of at least `hits` hits, of at most `hits` hits, and of no hit, each `[n]`."""
    exact = np.diff(offsets) * hits <= MOST_STEPS
    upper, lower, none, mean, variance = _tails(chances, offsets, hits, exact)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt(np.maximum(variance, 1e-300))
        above, below = (mean + 0.5 - hits) / deviation, (hits + 0.5 - mean) / deviation
        logs = np.log(np.minimum(upper, 1.0)), np.log(np.minimum(lower, 1.0))
    return np.where(exact, logs[0], log_ndtr(above)), np.where(exact, logs[1], log_ndtr(below)), none


@compiled
def _tails(
    chances: Float64s, offsets: Int64s, hits: Int64s, exact: Bools
) -> tuple[Float64s, Float64s, Float64s, Float64s, Float64s]:
    """Return both exact tails where requested, the log probability of no hit, means and variances."""
    n = hits.size
    upper, lower, none, mean, variance = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for number in range(n):
        most, drawn = hits[number], 0
        # The probability of each number of hits up to `most` after some draws. The probability of more hits is already
        # in `upper`.
        below = np.zeros(most + 1)
        below[0] = 1.0
        for draw in range(offsets[number], offsets[number + 1]):
            p = chances[draw]
            if p == 0:
                continue
            mean[number] += p
            variance[number] += p * (1 - p)
            none[number] += np.log1p(-p)
            if exact[number]:
                drawn += 1
                upper[number] += below[most - 1] * p
                for k in range(min(drawn, most), 0, -1):  # so far there cannot be more hits than draws
                    below[k] = below[k] * (1 - p) + below[k - 1] * p
                below[0] *= 1 - p
        lower[number] = below.sum()
    return upper, lower, none, mean, variance
