"""How alike two states of a token are: cosines, as they are and with the mean state taken away."""

from dataclasses import dataclass

import numpy as np
import torch

from ops.sampling import GAUSSIAN, PAIRS
from ops.shards import Ids

SAME_TOKEN = ("default", "default_centred")
RANDOM_PAIR = ("random_pair", "random_pair_centred")
GAUSSIAN_PAIR = "gaussian"
REFERENCES = (*SAME_TOKEN, *RANDOM_PAIR, GAUSSIAN_PAIR)

_LEAST = 1e-12
_PAIRS_OF_A_BATCH = 256
GAUSSIAN_PAIRS = 10_000
# Inner edges of the histograms of cosines: 200 bins of a hundredth.
EDGES = torch.from_numpy(np.linspace(-0.99, 0.99, 199).astype(np.float32))


@dataclass(frozen=True)
class Vectors:
    """Every token's state in one layer, with what its cosines need.

    Attributes:
        states, centred: as they are, and without the mean state; `[tokens, width]` float32.
        norms, centred_norms: their Euclidean norms, `[tokens]` float32.
    """

    states: torch.Tensor
    centred: torch.Tensor
    norms: torch.Tensor
    centred_norms: torch.Tensor

    @classmethod
    def of(cls, states: torch.Tensor, mean: torch.Tensor) -> "Vectors":
        """Return the states of a layer, whose mean is `[width]` float32."""
        centred = states - mean
        return cls(states, centred, _norm(states), _norm(centred))


def same_token(found: Vectors, default: Vectors) -> torch.Tensor:
    """Return the cosines of each token's state with its default one, as SAME_TOKEN has them, `[tokens, 2]`."""
    plain = torch.linalg.vecdot(found.states, default.states) / (found.norms * default.norms)
    centred = torch.linalg.vecdot(found.centred, default.centred) / (found.centred_norms * default.centred_norms)
    return torch.stack([plain, centred], 1).clamp(-1, 1)


def random_pairs(found: Vectors, default: Vectors, pairs: torch.Tensor) -> torch.Tensor:
    """Return the cosines of tokens' states with other tokens' default ones, as RANDOM_PAIR has them.

    Args:
        found, default: a layer's states.
        pairs: the tokens and the others, `[2, pairs]` int64.

    Returns:
        `[pairs, 2]`.
    """
    one, other = pairs
    plain = torch.linalg.vecdot(found.states[one], default.states[other])
    centred = torch.linalg.vecdot(found.centred[one], default.centred[other])
    plain = plain / (found.norms[one] * default.norms[other])
    centred = centred / (found.centred_norms[one] * default.centred_norms[other])
    return torch.stack([plain, centred], 1).clamp(-1, 1)


def draw_pairs(owner: torch.Tensor, sent_ids: Ids, seed: int) -> torch.Tensor:
    """Draw at most 256 tokens of a batch without replacement, and for each any token of another text.

    Args:
        owner: the row of each token's text, `[tokens]` int64.
        sent_ids: the batch's texts; the first one's id and the seed make the draw.
        seed: the run's.

    Returns:
        `[2, pairs]` int64, on the device of `owner`.
    """
    rng = np.random.default_rng([seed, PAIRS, int(sent_ids[0])])
    tokens = len(owner)
    one = rng.permutation(tokens)[:_PAIRS_OF_A_BATCH]
    other = rng.integers(0, tokens, len(one))
    pairs = torch.from_numpy(np.stack([one, other])).to(owner.device)
    return pairs[:, owner[pairs[0]] != owner[pairs[1]]]


def gaussian_cosines(width: int, seed: int) -> torch.Tensor:
    """Return the cosines of 10,000 seeded pairs of random Gaussian vectors of a width, `[10000, 1]` float32."""
    rng = np.random.default_rng([seed, GAUSSIAN])
    one, other = rng.standard_normal((2, GAUSSIAN_PAIRS, width), np.float32)
    cosines = (one * other).sum(1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1))
    return torch.from_numpy(cosines)[:, None]


def _norm(vectors: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(vectors, dim=1).clamp_min(_LEAST)  # type: ignore[no-any-return]
