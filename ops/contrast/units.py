"""How well each unit separates two groups of sentences, as they are and matched in length and data set."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from ops.arrays import Arrays, Bools, Float64s, Floats, Int64s
from ops.contrast.groups import Contrast
from ops.contrast.permutations import Permutations
from ops.mine.held_out_sets import Matcher
from ops.patterns.sequences import Sequences
from ops.shards import spans
from ops.statistics.association import measures
from ops.statistics.by_document import areas_by_document
from ops.statistics.design_effect import design_effects
from ops.statistics.false_discovery import p_values
from ops.statistics.like_area import like_area

UNITS_AT_ONCE = 512  # units whose values are in memory as float64
PERMUTATIONS = 1_000


@dataclass(frozen=True)
class Matched:
    """The sentences of the smaller group of a contrast, and those of the other group that match them.

    Attributes:
        winners: the sentences of the smaller group, as places among those of the contrast, `[w]`.
        others: the sentences of the other group that match any of them, `[o]`.
        first, stop: `others[first[i]:stop[i]]` match winner i, `[w]`.
        sign: 1 if the smaller group is a, otherwise -1.
    """

    winners: Int64s
    others: Int64s
    first: Int64s
    stop: Int64s
    sign: int

    @classmethod
    def of(cls, contrast: Contrast) -> "Matched":
        """Match the sentences of a contrast in length and data set."""
        is_a = contrast.is_a
        sign = 1 if 2 * is_a.sum() <= len(is_a) else -1
        winners = np.flatnonzero(is_a if sign == 1 else ~is_a)
        every, lengths = np.arange(len(is_a)), contrast.lengths
        matcher = Matcher(every, contrast.datasets, lengths.__getitem__, int(lengths.max()))
        like = matcher.similar(Sequences(winners.astype(np.int32), np.array([0, len(winners)])))
        return cls(winners, like.rows.items.astype(np.int64), like.first, like.stop, sign)

    @property
    def unmatched(self) -> float:
        """The share of the smaller group without a match."""
        return float((self.first == self.stop).mean())

    def areas(self, values: Float64s, documents: Int64s) -> tuple[Float64s, Float64s]:
        """Return the areas of units with the ends of their intervals, `[3, units]`, and their p-values, `[units]`."""
        intervals, p = np.empty((3, values.shape[1])), np.empty(values.shape[1])
        of_winners, of_others = documents[self.winners], documents[self.others]
        above, below = (np.ascontiguousarray(self.sign * values[rows].T) for rows in (self.winners, self.others))
        for unit in range(values.shape[1]):
            area = like_area(above[unit], below[unit], self.first, self.stop, of_winners, of_others)
            intervals[:, unit], p[unit] = area.interval_and_p()
        return intervals, p


@dataclass(frozen=True)
class Separation:
    """How well the units of a layer separate the groups of a contrast; NaN where a number is not known.

    Attributes:
        mean_a, mean_b: the mean of each unit in both groups, `[units]`.
        auc, matched_auc: the areas with the ends of their intervals, `[3, units]`.
        p: the p-value of each unit, `[units]`: of a matched area of 0.5, or of equal shares of active sentences.
        distance: how far each area is from its mean over permuted labels, in standard deviations, `[units]`.
        largest: the largest absolute distance of all units in each permutation, `[permutations]`.
        active_a, active_b, lift, g2, effect: for features, the shares of sentences in which they are active, the lift
            of the first over the second, its log-likelihood ratio and design effect, `[units]`.
    """

    mean_a: Float64s
    mean_b: Float64s
    auc: Float64s
    matched_auc: Float64s
    p: Float64s
    distance: Float64s
    largest: Float64s
    active_a: Float64s
    active_b: Float64s
    lift: Float64s
    g2: Float64s
    effect: Float64s


def separation(contrast: Contrast, values: Floats | csr_array, permutations: Permutations | None = None) -> Separation:
    """Return how well units separate the groups of a contrast.

    Args:
        values: the values of the units in its sentences, `[n, units]`; sparse for features of dictionaries.
        permutations: the permutations of the labels; None if they are not asked for.
    """
    parts: list[dict[str, Arrays]] = []
    is_a, documents, matched = contrast.is_a, contrast.documents, Matched.of(contrast)
    columns, width = csc_array(values) if isinstance(values, csr_array) else values, values.shape[1]
    for first, stop in spans(width, UNITS_AT_ONCE):
        some = columns[:, first:stop]
        block = np.asarray(some.toarray() if isinstance(some, csc_array) else some, np.float64)
        part: dict[str, Arrays] = {"mean_a": block[is_a].mean(0), "mean_b": block[~is_a].mean(0)}
        part["auc"] = areas_by_document(block[is_a], block[~is_a], documents[is_a], documents[~is_a])
        part["matched_auc"], part["p"] = matched.areas(block, documents)
        part["distance"], part["largest"] = np.full(stop - first, np.nan), np.zeros(0)
        if permutations is not None:
            part["distance"], part["largest"] = permutations.standardised(block, PERMUTATIONS)
        parts.append(part)
    joined = {name: np.concatenate([part[name] for part in parts], -1) for name in parts[0] if name != "largest"}
    joined["largest"] = np.maximum.reduce([part["largest"] for part in parts])
    if isinstance(values, csr_array):
        joined |= _of_features(csr_array(values > 0, dtype=np.float64), is_a, documents)
        return Separation(**joined | {"p": p_values(joined["g2"], joined["effect"])})
    unknown = dict.fromkeys(("active_a", "active_b", "lift", "g2", "effect"), np.full(width, np.nan))
    return Separation(**joined, **unknown)


def _of_features(active: csr_array, is_a: Bools, documents: Int64s) -> dict[str, Arrays]:
    """Return the measures of features by the sentences in which they are active, `[features]` each.

    The design effect of the difference of two shares is the mean of the effects in both groups, weighted by 1 / n.
    """
    counts = [np.asarray(active[group].sum(0), np.int64) for group in (is_a, ~is_a)]
    sizes = [is_a.sum(), (~is_a).sum()]
    measured, share = measures(counts[0], sizes[0], counts[1], sizes[1]), sum(counts) / len(is_a)
    effects = []
    for group, count, n in zip((is_a, ~is_a), counts, sizes, strict=True):
        _, number = np.unique(documents[group], return_inverse=True)
        w = np.bincount(number).astype(np.float64)
        by_document = csr_array((np.ones(n), (number, np.arange(n))), shape=(len(w), n)) @ active[group]
        squares, products = by_document.power(2).sum(0), w @ by_document
        having = np.asarray((by_document > 0).sum(0))
        effects.append(design_effects(count, n, share, having, squares, products, len(w), (w**2).sum()))
    with np.errstate(invalid="ignore"):
        effect = (effects[0] / sizes[0] + effects[1] / sizes[1]) / (1 / sizes[0] + 1 / sizes[1])
    return {
        "active_a": counts[0] / sizes[0], "active_b": counts[1] / sizes[1], "lift": measured.lift, "g2": measured.g2,
        "effect": effect,
    }  # fmt: skip
