"""How much less information sentences carry if they share documents: variance by document over that by sentence."""

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Bools, Float64s, Int64s, begins_group


def design_effects(
    count: ArrayLike,
    n: ArrayLike,
    share: ArrayLike,
    documents: ArrayLike,
    squares: ArrayLike,
    products: ArrayLike,
    n_documents: ArrayLike,
    n_squares: ArrayLike,
) -> Float64s:
    """Return the design effect of each count of winners, `[n_patterns] float64`, at least 1 (Rao and Scott 1981).

    It is the variance of the winners' share computed by document, divided by the same variance computed by sentence:

        by document:  D / (D - 1) * sum over documents d of (a_d - p w_d)^2
        by sentence:  n / (n - 1) * sum over sentences i of (x_i - p)^2

    Document d contains w_d of the n winners, and a_d of these have the pattern. x_i is 1 if sentence i has the pattern,
    otherwise 0, and p is the expected share. The effect is exactly 1 if every sentence is its own document. It is
    infinite if all winners come from one document. It is also infinite if more winners than expected have the pattern
    and these all come from one document.

    Args:
        count: number of winners that have the pattern.
        n: number of winners.
        share: the expected share p of winners with the pattern, which is its share in winners and baseline together.
        documents: number of documents of the winners that have the pattern.
        squares: the sum of a_d^2.
        products: the sum of a_d w_d.
        n_documents: number of documents D of all winners.
        n_squares: the sum of w_d^2.

    >>> own = design_effects(4, 10, 0.1, 4, 4, 4, 10, 10)  # ten sentences of ten documents
    >>> pairs = design_effects(4, 10, 0.1, 2, 8, 8, 5, 20)  # of five, with both sentences of each equal
    >>> own.item(), round(pairs.item(), 3)
    (1.0, 2.25)
    """
    together = _together(count, n, share, squares, products, n_squares)
    preferred = np.asarray(count) > np.asarray(n) * np.asarray(share)
    return _of_a_sample(together, preferred, documents, n, n_documents)


def effects_of_residuals(
    residuals: Float64s,
    hits: Bools,
    key: Int64s,
    documents: Int64s,
    preferred: Bools,
    n: Int64s,
    n_documents: Int64s,
) -> Float64s:
    """Return the design effects of counts for which each sentence has its own probability, `[n_keys] float64`.

    Args:
        residuals: each sentence's outcome, 1 or 0, minus its probability, `[residuals]`; zeros may be omitted.
        hits: whether the outcome is 1, `[residuals]`.
        key: the index of the count to which the sentence belongs, ascending, `[residuals]`.
        documents: a code of the sentence's document, ascending for each key, `[residuals]`.
        preferred: whether there are more hits than expected, `[n_keys]`.
        n, n_documents: number of all sentences of each count, and of their documents, `[n_keys]`.
    """
    first = begins_group(key, documents)
    group = np.cumsum(first) - 1
    sums, alone, hit = (np.bincount(group, values) for values in (residuals, residuals**2, hits))
    # Exactly 0 for a document with one residual, whose square equals the sum of squares.
    together = np.bincount(key[first], sums**2 - alone, minlength=len(n))
    by_sentence = np.bincount(key[first], alone, minlength=len(n))
    with_hit = np.bincount(key[first], hit > 0, minlength=len(n))
    added = np.divide(together, by_sentence, out=np.zeros(len(n)), where=by_sentence > 0)
    return _of_a_sample(added, preferred, with_hit, n, n_documents)


def expected_effects(
    count: ArrayLike,
    n: ArrayLike,
    squares: ArrayLike,
    products: ArrayLike,
    n_squares: ArrayLike,
    own_n: ArrayLike,
    own_squares: ArrayLike,
) -> Float64s:
    """Return the design effects of winners whose documents are composed like those of the baseline, `[n] float64`.

    If no winner has a pattern, the winners do not show from how many documents it could have come. So the effect is
    estimated from the baseline. For the baseline's complete documents, with the symbols of `design_effects`, it is

        B = (sum over documents d of (a_d - p w_d)^2) / (sum over sentences i of (x_i - p)^2)

    For winners that contain each sentence of their documents with the same probability t, the effect is 1 + t (B - 1).
    The probability t follows from the sizes of the documents. Let S be the sum of the squared document sizes divided by
    the number of sentences, in the baseline. The same quotient for the winners is then 1 + t (S - 1).

    Args:
        count, n, squares, products, n_squares: the arguments of `design_effects` for the baseline; p is `count / n`.
        own_n, own_squares: the number of winners, and the sum over documents of their squared number of winners.
    """
    a, n2, ww, n1, won_squares = (np.asarray(given, np.float64) for given in (count, n, n_squares, own_n, own_squares))
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.maximum(_together(a, n2, a / n2, squares, products, ww), 0.0)
        chance = np.where(ww > n2, np.minimum((won_squares / n1 - 1) / (ww / n2 - 1), 1.0), 0.0)
    return np.where(n2 > 0, 1 + chance * whole, 1.0)


def _of_a_sample(
    together: ArrayLike, preferred: ArrayLike, documents: ArrayLike, n: ArrayLike, n_documents: ArrayLike
) -> Float64s:
    """Return the design effects, adjusted for the number of documents: at least 1, possibly infinite."""
    n1, d = np.asarray(n, np.float64), np.asarray(n_documents, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        few = d * (n1 - 1) / ((d - 1) * n1)
        effect = np.maximum(few * (1 + np.asarray(together)), 1.0)
    alone = np.asarray(preferred) & (np.asarray(documents) < 2) & (d < n1)
    return np.where((d < 2) | alone, np.inf, effect)


def _together(
    count: ArrayLike, n: ArrayLike, share: ArrayLike, squares: ArrayLike, products: ArrayLike, n_squares: ArrayLike
) -> Float64s:
    """Return how much the sum of squared residuals increases, as a share, if residuals are first summed by document.

    The share is exactly 0 if every sentence is its own document.
    """
    a, n1, p, aa, aw, ww = (np.asarray(given, np.float64) for given in (count, n, share, squares, products, n_squares))
    by_sentence = a * (1 - 2 * p) + p * p * n1
    added = (aa - a) - 2 * p * (aw - a) + p * p * (ww - n1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(by_sentence > 0, added / by_sentence, 0.0)
