"""Average precision as if 1 % of sentences were winners, so that data sets of all sizes can be compared."""

import numpy as np

from ops.arrays import Float64s, Int32s
from ops.compiled import compiled

PREVALENCE = 0.01


@compiled
def average_precision(hits: Int32s, others: Int32s, prevalence: float = PREVALENCE) -> Float64s:
    """Return the average precision in each sample of sentences; NaN if it has no winner or nothing but winners.

    Whatever their numbers, the winners together get the weight `prevalence`, and the other sentences together get the
    rest. Ties enter together: the precision at a winner is that of all sentences whose score is at least as high.

    Args:
        hits, others: number of winners and of other sentences with each score, from the highest score down,
            `[levels, samples]`.
        prevalence: share of winners.

    Returns:
        `[samples]`, from about `prevalence` for an uninformative score to 1.
    """
    levels, samples = hits.shape
    found = np.full(samples, np.nan)
    for sample in range(samples):
        winners, rest = 0, 0
        for level in range(levels):
            winners += hits[level, sample]
            rest += others[level, sample]
        if winners == 0 or rest == 0:
            continue
        total, called, right = 0.0, 0.0, 0.0
        for level in range(levels):
            called += others[level, sample] * ((1 - prevalence) / rest)
            if hits[level, sample] > 0:
                share = hits[level, sample] / winners
                right += share * prevalence
                total += share * right / (right + called)
        found[sample] = total
    return found
