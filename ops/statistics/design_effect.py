"""How much less sentences say that come together in documents: a variance by documents over one by sentences."""

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Bools, Float64s, Int64s


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

    It is the variance of the winners' share, taken by documents, over the same variance taken by sentences:

        sum over documents of (a_d - p w_d)^2 * D / (D - 1)   over   sum over sentences of (x_i - p)^2 * n / (n - 1)

    Document d has w_d of the n winners, and a_d of these have the pattern; p is the share that is expected. Where each
    sentence is a document of its own it is exactly 1. It is infinite where all winners are of one document, and where
    more of them than expected have the pattern and those that do are all of one document.

    Args:
        count: winners that have the pattern.
        n: winners.
        share: the share p that is expected of them, that of winners and baseline together.
        documents: documents of the winners that have the pattern.
        squares: the sum of a_d^2.
        products: the sum of a_d w_d.
        n_documents: documents D of all winners.
        n_squares: the sum of w_d^2.

    >>> own = design_effects(4, 10, 0.1, 4, 4, 4, 10, 10)  # ten sentences of ten documents
    >>> pairs = design_effects(4, 10, 0.1, 2, 8, 8, 5, 20)  # of five, each alike in both of its sentences
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
    """Return the same design effects `[n_keys] float64` where each sentence has a chance of its own.

    Args:
        residuals: what happened, 1 or 0, less the chance of it, `[residuals]`; those that are 0 may be left out.
        hits: whether it happened, `[residuals]`.
        key: what it is counted for, ascending, `[residuals]`.
        documents: a code of the document, ascending for each key, `[residuals]`.
        preferred: whether there are more hits than expected, `[n_keys]`.
        n, n_documents: all sentences and their documents, `[n_keys]`.
    """
    first = np.append(True, (np.diff(key) != 0) | (np.diff(documents) != 0))[: len(key)]
    group = np.cumsum(first) - 1
    sums, alone, hit = (np.bincount(group, own) for own in (residuals, residuals**2, hits))
    # Exactly 0 of a document with one residual, whose square is the sum of its squares.
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
    """Return the design effects that winners would have whose documents hold what the baseline's do, `[n] float64`.

    Winners that lack something do not tell how many documents they would have had to draw it from. Of whole documents
    of the baseline the design effect is B = sum of (a_d - p w_d)^2 over sum of (x_i - p)^2. Winners that have a part of
    their documents' sentences, each with the same chance t, have 1 + t (B - 1); and the same chance makes the sum of
    the squares of their documents' sizes over their number 1 + t (S - 1), where S is this quotient of the baseline.

    Args:
        count, n, squares, products, n_squares: as `design_effects` takes them, of the baseline; p is `count / n`.
        own_n, own_squares: the winners, and the sum of the squares of how many are of each document.
    """
    a, n2, ww, n1, own = (np.asarray(given, np.float64) for given in (count, n, n_squares, own_n, own_squares))
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.maximum(_together(a, n2, a / n2, squares, products, ww), 0.0)
        chance = np.where(ww > n2, np.minimum((own / n1 - 1) / (ww / n2 - 1), 1.0), 0.0)
    return np.where(n2 > 0, 1 + chance * whole, 1.0)


def _of_a_sample(
    together: ArrayLike, preferred: ArrayLike, documents: ArrayLike, n: ArrayLike, n_documents: ArrayLike
) -> Float64s:
    """Return the design effects of what documents add: for as many documents as there are, at least 1, or infinite."""
    n1, d = np.asarray(n, np.float64), np.asarray(n_documents, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        few = d * (n1 - 1) / ((d - 1) * n1)
        effect = np.maximum(few * (1 + np.asarray(together)), 1.0)
    alone = np.asarray(preferred) & (np.asarray(documents) < 2) & (d < n1)
    return np.where((d < 2) | alone, np.inf, effect)


def _together(
    count: ArrayLike, n: ArrayLike, share: ArrayLike, squares: ArrayLike, products: ArrayLike, n_squares: ArrayLike
) -> Float64s:
    """Return what documents add to the sum of squared residuals over sentences, as a part of that sum.

    That is exactly 0 where each sentence is a document of its own.
    """
    a, n1, p, aa, aw, ww = (np.asarray(given, np.float64) for given in (count, n, share, squares, products, n_squares))
    by_sentence = a * (1 - 2 * p) + p * p * n1
    added = (aa - a) - 2 * p * (aw - a) + p * p * (ww - n1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(by_sentence > 0, added / by_sentence, 0.0)
