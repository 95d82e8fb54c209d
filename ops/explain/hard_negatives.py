"""Hard negatives: sentences that an explanation takes for winners but that do not activate the neuron."""

import numpy as np

from ops.arrays import Bools, Float32s, Float64s, Int64s

MOST = 5  # maximum number of hard negatives of a neuron and pole


def hard_negatives(
    scores: Float64s,
    threshold: float,
    activations: Float32s,
    won: Bools,
    pole: str,
    is_sparse: bool = False,
    most: int = MOST,
) -> Int64s:
    """Return the indices of the hard negatives among the sentences of the activation sample, best first.

    A hard negative has a score of at least the threshold, is not a winner of the neuron, and does not activate it. For
    the pole `top` its activation is at most the sample's median, and for `bottom` at least the median. A sparse feature
    must be inactive (0). The sentences with the highest scores are returned. Among equal scores, the sentence whose
    activation is farther from the pole comes first, then the one with the smaller index.

    Args:
        scores: the card's score of each sentence, `[n]`.
        threshold: the card's threshold.
        activations: the neuron's activation in each sentence, `[n]`.
        won: whether a sentence is a winner of the neuron at either pole, `[n]`.
        pole: `top` or `bottom`.
        is_sparse: whether the neuron is a sparse feature, which is 0 where it is inactive.
        most: maximum number of hard negatives to return.
    """
    heights = activations.astype(np.float64) if pole == "top" else -activations.astype(np.float64)
    is_quiet = activations == 0 if is_sparse else heights <= np.median(heights)
    places = np.flatnonzero(is_quiet & ~won & (scores >= threshold))
    return places[np.lexsort((places, heights[places], -scores[places]))][:most]
