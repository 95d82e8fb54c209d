"""Which literals are worth fitting: how much each would raise the likelihood by itself."""

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Float32s, Float64s, Int32s, Int64s
from ops.compiled import compiled
from ops.explain.card_choice import gains, largest
from ops.patterns.occurrences import Occurrences


def likelihood_gain(
    winners: ArrayLike,
    expected: ArrayLike,
    sentences: ArrayLike,
    all_winners: float,
    all_expected: float,
    all_sentences: float,
    half: float,
) -> Float64s:
    """Return by how many nats each literal raises the log-likelihood of a model without it, `[L]`.

    A literal splits the sentences in two parts: those with it and those without. Let a part have n sentences, of which
    a are winners, while the model expects e winners. With q = a / n and p = e / n, the gain of the part is

        a log(q / p) + (n - a) log((1 - q) / (1 - p))

    This is exact if the model gives all sentences of a part the same probability, and otherwise close. As in
    `fit_cells`, each literal gets half a baseline sentence, so that one without a baseline sentence does not look
    infallible. A gain can therefore be slightly below 0.

    Args:
        winners: number of winners with each literal, `[L]`.
        expected: number of winners with each literal that the model expects, `[L]`.
        sentences: weight of all sentences with each literal, `[L]`.
        all_winners, all_expected, all_sentences: the same numbers for all sentences.
        half: half the weight of a baseline sentence.

    >>> likelihood_gain([20], [10], [100], 50, 50, 500, 0).round(2).tolist()  # half of the G2 of 20, 80, 30 and 370
    [5.95]
    """
    a, e, n = (np.asarray(given, np.float64) for given in (winners, expected, sentences))
    return gains(a, e, n, float(all_winners), float(all_expected), float(all_sentences), half)


def screen(
    with_winners: Int64s,
    winners: int,
    with_rest: Float64s,
    rest: float,
    most: int,
    each: float = 1.0,
    expected: Float64s | None = None,
) -> Int64s:
    """Return the indices of the literals with the largest gain in log-likelihood, best first, at most `most`.

    Literals that are more common among the winners and literals that are less common are treated in the same way. Ties
    keep the order of the literals. A literal without any gain is omitted.

    Args:
        with_winners: number of training winners that have each literal, `[L]`.
        winners: number of training winners.
        with_rest: weight of the other training sentences that have each literal, `[L]`.
        rest: weight of all other training sentences.
        most: maximum number of literals to return.
        each: number of corpus sentences that one baseline sentence represents.
        expected: number of training winners with each literal that a model expects, `[L]`; by default the expectations
            of a model without any literal. With the expectations of a score card the function finds what the card
            lacks, such as a word that makes another one irrelevant. These expectations are `sums_by_literal` of
            `chances` times weights, in the training half.

    >>> screen(np.array([5, 30, 10]), 50, np.array([45.0, 70, 10]), 450.0, 2).tolist()
    [1, 2]
    """
    a, c = np.asarray(with_winners, np.int64), np.asarray(with_rest, np.float64)
    if not winners or rest <= 0 or most < 1:
        return np.zeros(0, np.int64)
    model = np.zeros(0) if expected is None else np.asarray(expected, np.float64)
    found, gain = largest(a, c, model, float(winners), float(rest), each / 2, min(most, len(a)))
    return found[np.lexsort((found, -gain))]


def sums_by_literal(found: Occurrences, values: ArrayLike, literals: Int64s | None = None) -> Float64s:
    """Return the sum of values `[n]`, of 32 bits each, over the sentences that have each literal.

    Args:
        found: the sentences with each of L literals.
        values: the value of each sentence, `[n]`.
        literals: indices of the literals to sum for; None for all.
    """
    which = np.arange(found.offsets.size - 1) if literals is None else literals
    return _sums(found.sentences, found.offsets, np.asarray(values, np.float32), which.astype(np.int64))


@compiled
def _sums(sentences: Int32s, offsets: Int64s, values: Float32s, literals: Int64s) -> Float64s:
    sums = np.zeros(literals.size)
    for i in range(literals.size):
        # Four sums in parallel, so that no addition waits for the previous one.
        first, stop = offsets[literals[i]], offsets[literals[i] + 1]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for pair in range(first, stop - 3, 4):
            a += values[np.uint32(sentences[pair])]
            b += values[np.uint32(sentences[pair + 1])]
            c += values[np.uint32(sentences[pair + 2])]
            d += values[np.uint32(sentences[pair + 3])]
        for pair in range(stop - (stop - first) % 4, stop):
            a += values[np.uint32(sentences[pair])]
        sums[i] = (a + b) + (c + d)
    return sums
