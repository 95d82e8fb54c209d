"""Examples from a neuron's complete range: a few sentences from each tenth of the activation sample."""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from ops import sampling, schema
from ops.arrays import Float32s, Int64s

TENTHS = 10


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
