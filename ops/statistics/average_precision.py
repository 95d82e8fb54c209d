"""Average precision: how well scores that compare within a fold of the documents find a few sentences among many."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ops.arrays import Float64s, Int64s
from ops.compiled import compiled

PREVALENCE = 0.01
_BEYOND = 1 << 44  # larger than the difference of any two scores


@dataclass(frozen=True)
class Ranked:
    """Sentences with the scores that they get from the cards of their own fold.

    Attributes:
        fold: the fold of each sentence, `[n]`; fold f of part p is `folds * p + f`.
        document: the document of each sentence, `[n]`.
        scores: the score of each sentence, `[n]` int64; only sentences of the same fold are compared.
    """

    fold: Int64s
    document: Int64s
    scores: Int64s

    @property
    def order(self) -> Int64s:
        """Numbers that ascend with the fold and, within a fold, from the highest score to the lowest, `[n]`."""
        return self.fold.astype(np.int64) * _BEYOND - self.scores


class Precision(NamedTuple):
    """Average precisions in P parts of the corpus.

    Attributes:
        value: the average precision in each part; NaN in a part without winners or with nothing but winners, `[P]`.
        effects: the first-order effect of each document on the value of its part, `[documents]`.
    """

    value: Float64s
    effects: Float64s


def average_precision(winners: Ranked, others: Ranked, parts: int, folds: int, documents: int) -> Precision:
    """Return the average precision in each part: the mean over its folds, weighted by winners.

    Whatever their numbers, the winners of a part together get the weight `PREVALENCE`, and its other sentences together
    get the rest, so that parts of all sizes can be compared.

    Args:
        winners, others: the sentences of all parts.
        parts, folds: the number of parts, P, and of the folds of each.
        documents: the number of documents.
    """
    # The levels of a fold are the distinct scores of its winners, from the highest, and one for all lower scores.
    ladder = np.unique(winners.order)
    starts = np.searchsorted(ladder, (np.arange(folds * parts + 1) - 0.5) * _BEYOND)
    size = int(np.diff(starts).max(initial=0)) + 1

    def kind(ranked: Ranked) -> Int64s:
        return ranked.fold * size + np.searchsorted(ladder, ranked.order) - starts[ranked.fold]

    of_winners, of_others = kind(winners), kind(others)
    shape = (parts, folds, size)
    hits, rest = (
        np.bincount(kinds, minlength=folds * parts * size).reshape(shape).astype(np.float64)
        for kinds in (of_winners, of_others)
    )
    value, winner, other = _linearised(hits, rest)
    document = np.concatenate((winners.document, others.document))
    effects = np.concatenate((winner.ravel()[of_winners], other.ravel()[of_others]))
    return Precision(value, np.asarray(np.bincount(document, effects, documents), np.float64))


def _linearised(hits: Float64s, others: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    """Return the average precision in each part, `[P]`, and how each sentence changes it.

    Args:
        hits, others: number of winners and of other sentences with each score, from the highest, `[P, folds, levels]`.

    Returns:
        The value, and the first-order effects of a winner and of another sentence of each level,
        `[P, folds, levels]` each.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        all_hits, all_others = hits.sum((1, 2)), others.sum((1, 2))
        each = (1 - PREVALENCE) / PREVALENCE * all_hits / all_others
        each = np.where(np.isfinite(each), each, 0.0)
        weight = others * each[:, None, None]
        right, wrong = hits.cumsum(2), weight.cumsum(2)
        known = (right[:, :, -1:] > 0) & (wrong[:, :, -1:] > 0)
        share = np.where(known & (hits > 0), 1 / (right + wrong), 0.0)
        value = np.array([mean_precision(*part)[0] for part in zip(hits[..., None], weight[..., None], strict=True)])
        total = (hits * known).sum((1, 2))[:, None, None]
        of_winner = np.where(known, right * share - value[:, None, None] + _tail(hits * wrong * share**2), 0.0)
        of_other = -_tail(hits * right * share**2)
        # One winner more, or one other sentence less, makes each of the others weigh more.
        shift = (weight * of_other).sum((1, 2))
        winner = (of_winner + (shift / all_hits)[:, None, None]) / total
        other = (each[:, None, None] * of_other - (shift / all_others)[:, None, None]) / total
    return value, np.nan_to_num(winner), np.nan_to_num(other)


def _tail(values: Float64s) -> Float64s:
    """Return the sums of values and those that follow them along the last axis."""
    return np.cumsum(values[..., ::-1], -1)[..., ::-1]


@compiled
def mean_precision(hits: Float64s, others: Float64s) -> Float64s:
    """Return the mean of the rows' average precision, weighted by winners, `[samples]`; NaN without winners.

    Ties enter together: the precision at a winner is that of all sentences whose score is at least as high. A row
    without winners, or with nothing but winners, is left out.

    Args:
        hits, others: weight of the winners and of the other sentences of each row with each score, from the highest
            score down, `[rows, levels, samples]`.
    """
    rows, size, samples = hits.shape
    means = np.full(samples, np.nan)
    for sample in range(samples):
        total, weight = 0.0, 0.0
        for row in range(rows):
            area, right, wrong = 0.0, 0.0, 0.0
            for level in range(size):
                winners = hits[row, level, sample]
                right += winners
                wrong += others[row, level, sample]
                if winners > 0:
                    area += winners * right / (right + wrong)
            if right > 0 and wrong > 0:
                total += area
                weight += right
        if weight > 0:
            means[sample] = total / weight
    return means
