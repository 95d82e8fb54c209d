"""Areas under the ROC curve within folds of documents, averaged, and their differences, with intervals by document."""

import math
from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Float64s, Int64s, Integers
from ops.statistics.by_document import LinearAreas, areas_with_ends, linear_areas, satterthwaite
from ops.statistics.interval import t_quantile

LEAST_DOCUMENTS = 2  # of each group in a fold; other folds are left out


@dataclass(frozen=True)
class FoldAreas:
    """Areas of several scores within folds, which are compared only with scores of the same fold.

    Attributes:
        parts: the areas within each fold that has enough documents of both groups.
        weights: the weight of each fold, `[parts]`: its sentences of the smaller group, divided by those of all folds.
        scores: the number of scores.
    """

    parts: tuple[LinearAreas, ...]
    weights: Float64s
    scores: int

    @classmethod
    def of(cls, scores: Float64s, is_a: Bools, documents: Int64s, folds: Integers) -> "FoldAreas":
        """Return the areas of scores, of which a high one says that a sentence belongs to the first group.

        Args:
            scores: the scores, `[sentences, scores]`. A fold in which any is NaN is left out.
            is_a: which sentences belong to the first group, `[sentences]`.
            documents, folds: the document of each sentence and its fold, `[sentences]`.
        """
        smaller = is_a if is_a.sum() <= len(is_a) / 2 else ~is_a
        parts, sizes = [], []
        for fold in np.unique(folds):
            in_fold = folds == fold
            a, b = in_fold & is_a, in_fold & ~is_a
            fewest = min(len(np.unique(documents[group])) for group in (a, b))
            if fewest >= LEAST_DOCUMENTS and not np.isnan(scores[in_fold]).any():
                parts.append(linear_areas(scores[a], scores[b], documents[a], documents[b]))
                sizes.append(float(smaller[in_fold].sum()))
        weights = np.array(sizes)
        return cls(tuple(parts), weights / weights.sum() if sizes else weights, scores.shape[1])

    def areas(self) -> Float64s:
        """Return the average areas with their 95 % intervals, `[3, scores]`; NaN without a fold."""
        if not self.parts:
            return np.full((3, self.scores), math.nan)
        area, error, freedom = self._moments(np.eye(self.scores))
        return areas_with_ends(area, error, freedom, sum(part.documents for part in self.parts))

    def combined(self, weights: Float64s, variance: float = 0.0) -> tuple[float, float, float]:
        """Return a sum of the average areas with these weights, `[scores]`, with its 95 % interval.

        With weights of 1 and -1 it is a difference; the scores are paired, because each document counts once for both.

        Args:
            weights: the weights.
            variance: variance that is not between documents, and is added.
        """
        if not self.parts:
            return math.nan, math.nan, math.nan
        value, error, freedom = (float(found[0]) for found in self._moments(weights[:, None]))
        half = float(t_quantile(freedom)) * math.sqrt(error**2 + variance)
        return value, value - half, value + half

    def _moments(self, weights: Float64s) -> tuple[Float64s, Float64s, Float64s]:
        """Return sums of areas with some weights, `[scores, sums]`, their errors and degrees of freedom."""
        combined = [part.combined(weights) for part in self.parts]
        area = sum(own.area * weight for own, weight in zip(combined, self.weights, strict=True))
        variances = [np.stack(own.variances()) for own in combined]
        variance, total, expected = (
            sum(own[index] * weight**power for own, weight in zip(variances, self.weights, strict=True))
            for index, power in enumerate((2, 2, 4))
        )
        return np.asarray(area), np.sqrt(np.asarray(variance)), satterthwaite(np.asarray(total), np.asarray(expected))
