"""Controls for the range model: a layer's activations along random axes, and those of shuffled sentences.

If the axes of a random rotation are explained as well as the neurons, the finding belongs to the layer and not to its
neurons. If the activations of shuffled sentences are explained, the method finds something that is not there.
"""

from functools import lru_cache

import numpy as np

from ops import sampling
from ops.arrays import Float32s, Float64s
from ops.sampling import random_rotation

_SENTENCES = 1024  # processed at once, in float64


def rotated(activations: Float32s, layer: int, seed: int, first: int, stop: int) -> Float32s:
    """Return some axes of a layer's centred activations in a randomly rotated basis, `[n, stop - first]` float32.

    Args:
        activations: the activations of all units of the layer, `[n, width]`.
        layer: the layer's number; each layer has its own rotation.
        seed: the seed of the rotations.
        first, stop: the range of axes to return; the number of axes is the number of units.
    """
    axes = np.ascontiguousarray(_rotation(activations.shape[1], layer, seed)[:, first:stop])
    mean = activations.mean(0, dtype=np.float64)
    turned = np.empty((len(activations), axes.shape[1]), np.float32)
    for start in range(0, len(activations), _SENTENCES):
        turned[start : start + _SENTENCES] = (activations[start : start + _SENTENCES] - mean) @ axes
    return turned


def shuffled(activations: Float32s, layer: int, seed: int) -> Float32s:
    """Return a layer's activations `[n, units]` with the sentences permuted in the same way for all of its units.

    Units keep their values and their correlations with each other, but no longer belong to the right sentences.
    """
    order = np.random.default_rng([seed, sampling.SHUFFLED_SENTENCES, layer]).permutation(len(activations))
    return activations[order]


@lru_cache(1)
def _rotation(width: int, layer: int, seed: int) -> Float64s:
    return random_rotation(width, np.random.default_rng([seed, sampling.AXES, layer]))
