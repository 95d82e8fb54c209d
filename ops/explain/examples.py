"""Examples from a neuron's complete range: a few sentences from each tenth of the activation sample."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ops import sampling
from ops.arrays import Float32s, Int16s, Int32s, Int64s

TENTHS = 10


@dataclass(frozen=True)
class Examples:
    """Sentences of several units, sorted by unit, tenth and sentence, `[rows]` each.

    Attributes:
        unit: the unit's index among the given units.
        quantile: the tenth of the activation sample, from 0 for the lowest activations to 9 for the highest.
        sent_id: the sentence's id.
        activation: the unit's activation in it.
    """

    unit: Int32s
    quantile: Int16s
    sent_id: Int64s
    activation: Float32s


def examples(activations: Float32s, sent_ids: Int64s, seed: int, each: int = 5) -> Examples:
    """Draw sentences without replacement from each tenth of the sample, ranked by each unit's own activations.

    A draw depends only on the seed and on the unit's activations, not on the other units given. Ties are put into
    random order before the sample is cut into tenths.

    Args:
        activations: each unit's activation in the sample's sentences, `[n, units]`.
        sent_ids: the ids of the sample's sentences, `[n]`.
        seed: the seed of the draws.
        each: number of sentences to draw from a tenth; if the tenth has fewer, all of them are returned.
    """
    n, units = activations.shape
    rng = np.random.default_rng([seed, sampling.EXAMPLES])
    ties = rng.permutation(n)
    cuts = np.arange(TENTHS + 1) * n // TENTHS
    drawn = [a + rng.choice(b - a, min(each, b - a), replace=False) for a, b in pairwise(cuts.tolist())]
    quantile = np.repeat(np.arange(TENTHS, dtype=np.int16), [len(ranks) for ranks in drawn])
    ascending = _stable_order(activations.T[:, ties])
    sentence = ties[ascending[:, np.concatenate(drawn)]].ravel()
    unit = np.repeat(np.arange(units, dtype=np.int32), len(quantile))
    quantile = np.tile(quantile, units)
    order = np.lexsort((sent_ids[sentence], quantile, unit))
    unit, quantile, sentence = unit[order], quantile[order], sentence[order]
    return Examples(unit, quantile, sent_ids[sentence], activations[sentence, unit])


def _stable_order(values: Float32s) -> Int64s:
    """Return a stable argsort of each row in half the time, by sorting distinct integers instead.

    Read as integers, the bits of positive float32 numbers ascend with their value. Those of negative ones descend until
    all bits but the sign are flipped. The index is appended in the low bits, so that ties keep their order.

    >>> _stable_order(np.array([[2, -1, 0, -0.0, -3, 2]], np.float32)).tolist()
    [[4, 1, 2, 3, 0, 5]]
    """
    bits = (values + np.float32(0)).view(np.int32)  # turns -0 into 0
    keys = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits).astype(np.int64) << 32
    keys |= np.arange(values.shape[1])
    keys.sort(axis=1)
    return keys & 0xFFFFFFFF
