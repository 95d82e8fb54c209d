"""The similarity of two states: cosines of the states themselves and of the states minus the mean state."""

from dataclasses import dataclass

import numpy as np
import torch

from ops.sampling import GAUSSIAN

SAME_TOKEN = ("default", "default_centred")
RANDOM_PAIR = ("random_pair", "random_pair_centred")
GAUSSIAN_PAIR = "gaussian"
REFERENCES = (*SAME_TOKEN, *RANDOM_PAIR, GAUSSIAN_PAIR)

_LEAST = 1e-12
GAUSSIAN_PAIRS = 10_000
# Inner edges of the histograms of cosines: 200 bins of width 0.01.
EDGES = torch.from_numpy(np.linspace(-0.99, 0.99, 199).astype(np.float32))


@dataclass(frozen=True)
class Vectors:
    """The directions of every token's state in one layer; inner products of directions are cosines.

    Attributes:
        units, centred: the states, and the states minus the mean state, scaled to length 1, `[tokens, width]` float32.
        norms: the Euclidean norms of the states, `[tokens]` float32.
    """

    units: torch.Tensor
    centred: torch.Tensor
    norms: torch.Tensor

    @classmethod
    def of(cls, states: torch.Tensor, mean: torch.Tensor) -> "Vectors":
        """Return the directions of a layer's states, given the mean state, `[width]` float32."""
        norms, centred = _norm(states), states - mean
        return cls(states / norms[:, None], centred.div_(_norm(centred)[:, None]), norms)

    def __getitem__(self, rows: torch.Tensor) -> "Vectors":
        return Vectors(self.units[rows], self.centred[rows], self.norms[rows])


def cosines(one: Vectors, other: Vectors) -> torch.Tensor:
    """Return the cosines of each state with the state in the same row of `other`: plain and centred, `[tokens, 2]`."""
    both = (torch.linalg.vecdot(one.units, other.units), torch.linalg.vecdot(one.centred, other.centred))
    return torch.stack(both, 1).clamp(-1, 1)


def gaussian_cosines(width: int, seed: int) -> torch.Tensor:
    """Return the cosines of 10,000 seeded pairs of random Gaussian vectors of this width, `[10000, 1]` float32."""
    rng = np.random.default_rng([seed, GAUSSIAN])
    one, other = rng.standard_normal((2, GAUSSIAN_PAIRS, width), np.float32)
    cosines = (one * other).sum(1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1))
    return torch.from_numpy(cosines)[:, None]


def _norm(vectors: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(vectors, dim=1).clamp_min(_LEAST)  # type: ignore[no-any-return]
