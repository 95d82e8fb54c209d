"""Examples from the whole range of a neuron: a few sentences from each tenth of the activation sample."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ops import sampling
from ops.arrays import Float32s, Int16s, Int32s, Int64s

TENTHS = 10


@dataclass(frozen=True)
class Examples:
    """Sentences of several units, by unit, tenth and sentence, `[rows]` each.

    Attributes:
        unit: its place among the units given.
        quantile: the tenth of the activation sample, 0 for the lowest activations to 9 for the highest.
        sent_id: the sentence.
        activation: the unit's activation in it.
    """

    unit: Int32s
    quantile: Int16s
    sent_id: Int64s
    activation: Float32s


def examples(activations: Float32s, sent_ids: Int64s, seed: int, each: int = 5) -> Examples:
    """Draw sentences without replacement from each tenth of the sample, by each unit's own activations.

    A draw depends on the seed and on the unit's activations only, not on the other units given. Equal activations
    are put into a random order before the sample is cut into tenths.

    Args:
        activations: `[n, units]`.
        sent_ids: of the sample, `[n]`.
        seed: of the draws.
        each: sentences of a tenth; all of them where it has no more.
    """
    n, units = activations.shape
    rng = np.random.default_rng([seed, sampling.EXAMPLES])
    ties = rng.permutation(n)
    cuts = np.arange(TENTHS + 1) * n // TENTHS
    drawn = [a + rng.choice(b - a, min(each, b - a), replace=False) for a, b in pairwise(cuts.tolist())]
    quantile = np.repeat(np.arange(TENTHS, dtype=np.int16), [len(ranks) for ranks in drawn])
    ascending = np.argsort(activations[ties], axis=0, kind="stable")
    sentence = ties[ascending[np.concatenate(drawn)]].T.ravel()
    unit = np.repeat(np.arange(units, dtype=np.int32), len(quantile))
    quantile = np.tile(quantile, units)
    order = np.lexsort((sent_ids[sentence], quantile, unit))
    unit, quantile, sentence = unit[order], quantile[order], sentence[order]
    return Examples(unit, quantile, sent_ids[sentence], activations[sentence, unit])
