"""Compiled functions that pool each sentence's states or activations on the CPU."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ops.arrays import Bools, Float32s, Int32s, Int64s
from ops.compiled import compiled

Float = TypeVar("Float", np.float32, np.float64)


@compiled
def mean_of_counted(states: npt.NDArray[Float], counted: Bools) -> npt.NDArray[Float]:
    """Return the mean over the tokens that count, `[sentences, units]`; NaN for a sentence without such tokens.

    This function reads the states of these tokens once and copies nothing. The torch version, which copies, took twice
    as long.

    Args:
        states: `[sentences, tokens, units]`.
        counted: which tokens count, `[sentences, tokens]`.
    """
    sentences, tokens, units = states.shape
    means = np.empty((sentences, units), states.dtype)
    total = np.empty(units, np.float64)
    for sentence in range(sentences):
        total[:] = 0.0
        n = 0
        for token in range(tokens):
            if counted[sentence, token]:
                n += 1
                for unit in range(units):
                    total[unit] += states[sentence, token, unit]
        for unit in range(units):
            means[sentence, unit] = total[unit] / n if n else np.nan
    return means


@compiled
def pool_places(values: Float32s, places: Int32s, sentence: Int64s, pooled: Float32s, active: Int64s) -> None:
    """Pool each feature by the maximum over a sentence's tokens, and count the tokens at which it is active.

    Args:
        values: the activations of each token's active features, `[tokens, k]`; zeros are ignored, and NaN stays.
        places: the indices of these features, `[tokens, k]`.
        sentence: the index of each token's sentence, `[tokens]`.
        pooled: the pooled activations, changed in place, `[sentences, features]`.
        active: the number of tokens at which each feature is active, changed in place, `[features]`.
    """
    for token in range(len(values)):
        best = pooled[sentence[token]]
        for j in range(values.shape[1]):
            value = values[token, j]
            if not value <= 0:
                feature = places[token, j]
                active[feature] += 1
                if value > best[feature] or np.isnan(value):
                    best[feature] = value


@compiled
def pool_block(values: Float32s, sentence: Int64s, pooled: Float32s, active: Int64s) -> None:
    """Pool and count as `pool_places` does, given the activations of all features of a block, `[tokens, features]`."""
    counts = np.zeros(values.shape[1], np.int32)
    for token in range(len(values)):
        row, best = values[token], pooled[sentence[token]]
        for feature in range(len(row)):
            wins = row[feature] > best[feature] or row[feature] != row[feature]  # a NaN, which then stays
            best[feature] = row[feature] if wins else best[feature]
            counts[feature] += np.int32(1) if row[feature] > 0 else np.int32(0)
    active += counts
