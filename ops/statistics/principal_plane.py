"""The plane of the two principal components of vectors."""

from typing import NamedTuple

import numpy as np

from ops.arrays import Float64s, Floats


class Plane(NamedTuple):
    """Coordinates of vectors on their first two principal axes, `[vectors, 2]`, and each axis's share of variance."""

    places: Float64s
    shares: tuple[float, float]


def principal_plane(vectors: Floats) -> Plane:
    """Project vectors, `[vectors, width]`, on the two axes with the largest variance.

    For vectors of width 1, the second coordinate is 0.
    """
    if vectors.shape[1] < 2:
        vectors = np.hstack([vectors, np.zeros((len(vectors), 2 - vectors.shape[1]))])
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    values, axes = np.linalg.eigh(centred.T @ centred)
    chosen = axes[:, [-1, -2]]
    chosen = chosen * np.sign(chosen[np.abs(chosen).argmax(0), [0, 1]])
    total = max(float(values.sum()), np.finfo(float).tiny)
    return Plane(centred @ chosen, (float(values[-1]) / total, float(values[-2]) / total))
