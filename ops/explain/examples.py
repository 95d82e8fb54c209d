"""Examples from a neuron's complete range, and hard negatives.

The former are a few sentences from each tenth of the activation sample; the latter are sentences that an explanation
takes for winners but that do not activate the neuron.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from ops import sampling, schema
from ops.arrays import Bools, Float32s, Float64s, Int64s

TENTHS = 10
MOST_NEGATIVES = 5  # maximum number of hard negatives of a neuron and pole


def examples(
    layer: int, units: Int64s, activations: Float32s, sent_ids: Int64s, seed: int, each: int = 5
) -> pa.Table:  # fmt: skip
    """Draw sentences without replacement from each tenth of the sample, and return them as rows of `examples`.

    The sample is ranked by each unit's own activations. A draw depends only on the seed and on the unit's activations,
    not on the other units given. Ties are put into random order before the sample is cut into tenths.

    Args:
        layer, units: the layer, and the units in it, `[units]`.
        activations: each unit's activation in the sample's sentences, `[n, units]`.
        sent_ids: the ids of the sample's sentences, `[n]`.
        seed: the seed of the draws.
        each: number of sentences to draw from a tenth; if the tenth has fewer, all of them are returned.
    """
    n, width = activations.shape
    rng = np.random.default_rng([seed, sampling.EXAMPLES])
    ties = rng.permutation(n)
    cuts = np.arange(TENTHS + 1) * n // TENTHS
    drawn = [a + rng.choice(b - a, min(each, b - a), replace=False) for a, b in pairwise(cuts.tolist())]
    ascending = np.argsort(activations.T[:, ties], axis=1, kind="stable")
    sentence = ties[ascending[:, np.concatenate(drawn)]]
    rows = sentence.size
    columns = {
        "layer": pa.repeat(layer, rows), "unit": np.repeat(units.astype(np.int32), sentence.shape[1]),
        "pole": pa.nulls(rows, pa.string()), "rank": pa.nulls(rows, pa.int32()),
        "quantile": np.tile(np.repeat(np.arange(TENTHS, dtype=np.int16), [len(ranks) for ranks in drawn]), width),
        "sent_id": sent_ids[sentence.ravel()],
        "activation": np.take_along_axis(activations.T, sentence, 1).ravel(),
    }  # fmt: skip
    return schema.table("examples", columns)


def hard_negatives(
    scores: Float64s,
    threshold: float,
    activations: Float32s,
    won: Bools,
    pole: str,
    is_sparse: bool = False,
    most: int = MOST_NEGATIVES,
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
