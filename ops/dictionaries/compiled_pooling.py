"""Compiled CPU functions that select the largest products of each token and pool activations by maximum."""

import numpy as np

from ops.arrays import Float32s, Int32s, Int64s
from ops.compiled import compiled


@compiled
def take_largest(products: Float32s, first: int, values: Float32s, places: Int32s) -> None:
    """Merge the products of some features into each token's largest products so far.

    Of equal products, those of earlier features are kept.

    Args:
        products: the products of the features from `first` on, `[tokens, features]`.
        first: the index of the first of these features.
        values: the largest products so far, `[tokens, k]`. Each row is a heap whose smallest value is first, and of
            equal values the latest feature's; an empty slot is -inf.
        places: the features of these products, `[tokens, k]` int32.
    """
    k = values.shape[1]
    for token in range(len(products)):
        row, best, place = products[token], values[token], places[token]
        smallest = best[0]
        for i in range(len(row)):
            if row[i] > smallest:
                value, at = row[i], 0
                while True:
                    below = 2 * at + 1
                    if below >= k:
                        break
                    other = below + 1
                    if other < k and (
                        best[other] < best[below] or (best[other] == best[below] and place[other] > place[below])
                    ):
                        below = other
                    if best[below] >= value:
                        break
                    best[at], place[at] = best[below], place[below]
                    at = below
                best[at], place[at] = value, np.int32(first + i)
                smallest = best[0]


@compiled
def pool_places(values: Float32s, places: Int32s, sentence: Int64s, pooled: Float32s, active: Int64s) -> None:
    """Pool each feature by the maximum over a sentence's tokens, and count the tokens at which it is active.

    Args:
        values: the activations of each token's active features, `[tokens, k]`; values that are not above 0 are ignored.
        places: the indices of these features, `[tokens, k]`.
        sentence: the index of each token's sentence, `[tokens]`.
        pooled: the pooled activations, changed in place, `[sentences, features]`.
        active: the number of tokens at which each feature is active, changed in place, `[features]`.
    """
    for token in range(len(values)):
        best = pooled[sentence[token]]
        for j in range(values.shape[1]):
            value = values[token, j]
            if value > 0:
                feature = places[token, j]
                active[feature] += 1
                if value > best[feature]:
                    best[feature] = value


@compiled
def pool_block(values: Float32s, sentence: Int64s, pooled: Float32s, active: Int64s) -> None:
    """Pool and count as `pool_places` does, given the activations of all features of a block, `[tokens, features]`."""
    counts = np.zeros(values.shape[1], np.int32)
    for token in range(len(values)):
        row, best = values[token], pooled[sentence[token]]
        for feature in range(len(row)):
            best[feature] = max(best[feature], row[feature])
            counts[feature] += np.int32(1) if row[feature] > 0 else np.int32(0)
    active += counts
