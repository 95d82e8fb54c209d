"""False discovery rates of a neuron's patterns."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, stdtr  # type: ignore[import-untyped]

from ops.arrays import Bools, Float64s, Int64s
from ops.compiled import compiled
from ops.statistics.association import place_in_group, signed_g2


def p_values(g2: ArrayLike, design_effect: ArrayLike = 1.0) -> Float64s:
    """Return the two-sided p-value of each g2, `[n] float64`.

    It is the upper tail of the chi-square distribution with one degree of freedom. The g2 is divided by its design
    effect first (Rao and Scott 1984).
    """
    return np.exp(_log_p(np.asarray(g2, dtype=np.float64) / np.asarray(design_effect, dtype=np.float64)))


def selected_p_values(
    support: ArrayLike,
    n: ArrayLike,
    baseline_support: ArrayLike,
    baseline_n: ArrayLike,
    min_support: ArrayLike,
    design_effect: ArrayLike = 1.0,
) -> Float64s:
    """Return the two-sided p-values `[n] float64` of patterns that are listed because of their support.

    Mining keeps only patterns that at least `min_support` sentences have. A rare pattern is therefore seen only if
    chance made it frequent, and its plain p-value is too small. So each p-value is divided by the probability that a
    pattern without any preference reaches that support, given the table's margins, and capped at 1 (conditional
    inference after selection, Fithian et al. 2014). To compute this probability, the signed root of g2 at half a
    sentence below that support is treated as normal. Both g2 are divided by the design effect.
    """
    a, n1, c, n2 = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(count, dtype=np.float64)) for count in (support, n, baseline_support, baseline_n))
    )
    effect = np.asarray(design_effect, dtype=np.float64)
    log_p = _log_p(signed_g2(a, n1, c, n2) / effect)
    edge_support = np.asarray(min_support, dtype=np.float64) - 0.5
    least = np.clip(edge_support, np.maximum(a + c - n2, 0), np.minimum(a, n1))
    edge = signed_g2(least, n1, a + c - least, n2) / effect
    log_selected = log_ndtr(-np.sign(edge) * np.sqrt(np.abs(edge)))
    # At or below the minimum support that the margins allow, every table is selected.
    log_selected = np.where(edge_support <= np.maximum(a + c - n2, 0), 0.0, log_selected)
    return np.exp(np.minimum(log_p - log_selected, 0.0))


def q_values_among(p: Float64s, hypotheses: int) -> Float64s:
    """Return the q-values of some of a family's hypotheses, of which all others have a p-value of 1, `[n] float64`.

    Args:
        p: the p-values of these hypotheses, `[n]`.
        hypotheses: the number of all hypotheses of the family, at least n.

    >>> q_values_among(np.array([0.01, 0.002]), 10).round(3).tolist()
    [0.05, 0.02]
    """
    return np.minimum(q_values(p) * hypotheses / len(p), 1.0)


def q_values(p: ArrayLike, groups: ArrayLike | None = None) -> Float64s:
    """Return the lowest false discovery rate at which each pattern is still listed, `[n] float64`.

    This is the step-up method of Benjamini and Hochberg 1995: among m p-values, the q-value of the i-th smallest one is
    the minimum of `p_j m / j` over j >= i. If `groups` (such as neuron, pole and kind) are given, the method is applied
    within each group.
    """
    values = np.asarray(p, dtype=np.float64)
    group = np.zeros(values.shape, np.int64) if groups is None else np.unique(groups, return_inverse=True)[1]
    order = np.lexsort((values, group))
    sizes = np.bincount(group)
    result = np.empty_like(values)
    result[order] = _stepped_up(values[order], np.concatenate(([0], np.cumsum(sizes))))
    return result


def significantly_above(values: Float64s, errors: Float64s, freedom: Float64s) -> Bools:
    """Return which values are above 0 by Student's t, at a false discovery rate of 5 % over all of them, `[n]`.

    Args:
        values: the values, `[n]`.
        errors: their standard errors, above 0, `[n]`.
        freedom: the degrees of freedom of the errors, `[n]`.
    """
    return np.asarray((q_values(2 * stdtr(freedom, -np.abs(values / errors))) <= 0.05) & (values > 0))


def description_rates(q: ArrayLike, families: ArrayLike, groups: ArrayLike) -> Float64s:
    """Return the lowest false discovery rate at which each finding stays in a group's description, `[n] float64`.

    The rate is controlled over a group's complete description, which consists of F families. A family's smallest q is
    the joint p-value of all its hypotheses (Simes 1986). At a rate r, Benjamini and Hochberg's method selects R of
    these families. Each selected family lists its findings with a q of at most r R / F (Benjamini and Bogomolov 2014).
    The rate is then an expectation over the selected families. If a group has no true finding, it is the probability of
    any finding. If a q is NaN, its result is NaN, and a family with only NaN is ignored.

    Args:
        q: false discovery rates within each family, as `q_values` returns them, `[n]`.
        families: the family of each finding, such as a kind of patterns or a property, `[n]`.
        groups: the group of each finding, which is a neuron and pole, `[n]`.

    >>> description_rates([0.01, 0.2, 0.9], ["word", "word", "tag"], [0, 0, 0]).round(3).tolist()
    [0.02, 0.4, 0.9]
    """
    values = np.asarray(q, dtype=np.float64)
    result, known = np.full(values.shape, np.nan), np.flatnonzero(~np.isnan(values))
    if not len(known):
        return result
    values = values[known]
    family, group = (np.unique(np.asarray(labels)[known], return_inverse=True)[1] for labels in (families, groups))
    pairs, pair = np.unique(group * (family.max() + 1) + family, return_inverse=True)
    least = np.ones(len(pairs))
    np.minimum.at(least, pair, values)
    owner = pairs // (family.max() + 1)
    count = np.bincount(owner)
    order = np.lexsort((least, owner))
    # For each group, the rate at which one family is selected, the rate at which two are, and so on.
    selected = np.full((len(count), count.max()), np.inf)
    selected[owner[order], place_in_group(owner[order])] = q_values(least, owner)[order]
    rates = np.full(len(values), 1.0)
    for number in range(count.max()):
        needed = np.maximum(values * count[group] / (number + 1), selected[group, number])
        rates = np.minimum(rates, needed)
    result[known] = rates
    return result


@compiled
def _stepped_up(values: Float64s, offsets: Int64s) -> Float64s:
    result = np.empty_like(values)
    for group in range(offsets.size - 1):
        first, stop = offsets[group], offsets[group + 1]
        least = 1.0
        for index in range(stop - 1, first - 1, -1):
            least = min(least, values[index] * (stop - first) / (index - first + 1))
            result[index] = least
    return result


def _log_p(g2: Float64s) -> Float64s:
    tail = np.log(2.0) + log_ndtr(-np.sqrt(np.abs(g2)))
    return np.asarray(np.minimum(tail, 0.0))
