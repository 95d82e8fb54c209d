"""The similarity of states: cosines, plain and of states minus the mean state, of equal tokens and of random pairs.

The inner product of two sums of unit vectors is the sum of the cosines of all pairs. So the mean over all pairs of
tokens of different texts follows from one sum for each layer and variant, minus the pairs within a text. It is exact
and does not depend on the division of texts into batches and shards. The spread cannot be computed from sums.
To estimate it, each token is paired with one token of a panel, which the pilot draws from its texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from ops.arrays import Bools, Float32s, Float64s, Int64s, UInt64s
from ops.hashing import mix
from ops.sampling import GAUSSIAN, PAIRS, PANEL, priorities

SAME_TOKEN = ("default", "default_centred")
RANDOM_PAIR = ("random_pair", "random_pair_centred")
GAUSSIAN_PAIR = "gaussian"
REFERENCES = (*SAME_TOKEN, *RANDOM_PAIR, GAUSSIAN_PAIR)

PANEL_TOKENS = 512
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


class Panel(NamedTuple):
    """The tokens with which other tokens are paired.

    Attributes:
        sent_ids: the id of each token's text, `[tokens]` int64.
        states: the default state of each token in each layer, `[layers, tokens, width]` float32.
    """

    sent_ids: Int64s
    states: Float32s


class PanelDraw:
    """A seeded uniform draw of tokens from batches of texts; it does not depend on the batches or their order."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._drawn: list[tuple[UInt64s, Int64s, Float32s]] = []  # none or one: the ranks, texts and states so far

    def add(self, sent_ids: Int64s, places: Int64s, states: torch.Tensor) -> None:
        """Add tokens: each token's text and its position in it, `[tokens]`, and states `[layers, tokens, width]`."""
        rank = priorities(_keys(sent_ids, places), self.seed, PANEL)
        first = np.argsort(rank, kind="stable")[:PANEL_TOKENS]
        chosen = states[:, torch.from_numpy(first).to(states.device)].cpu().numpy()
        parts = [*self._drawn, (rank[first], sent_ids[first], chosen)]
        ranks, texts = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        first = np.argsort(ranks, kind="stable")[:PANEL_TOKENS]
        self._drawn = [(ranks[first], texts[first], np.concatenate([part[2] for part in parts], 1)[:, first])]

    def result(self) -> Panel:
        """Return the drawn tokens; the panel is empty if no tokens were added."""
        if not self._drawn:
            return Panel(np.zeros(0, np.int64), np.zeros((0, 0, 0), np.float32))
        ((_, texts, states),) = self._drawn
        return Panel(texts, states)


def draw_partners(panel: Int64s, sent_ids: Int64s, places: Int64s, seed: int) -> tuple[Int64s, Bools]:
    """Return the panel index of each token's partner, and whether the partner belongs to another text.

    Args:
        panel: the ids of the texts of the panel's tokens, `[panel]` int64.
        sent_ids, places: the id of each token's text and the token's position in it, `[tokens]` int64.
    """
    drawn = priorities(_keys(sent_ids, places), seed, PAIRS) % np.uint64(len(panel))
    partners = drawn.astype(np.int64)
    return partners, np.asarray(panel[partners] != sent_ids)


def text_sums(layers: Sequence[Vectors], lengths: torch.Tensor) -> torch.Tensor:
    """Return the sums of each text's plain and centred unit vectors, `[texts, 2 * layers, width]` float32.

    Args:
        layers: the directions of the tokens in each layer, text after text.
        lengths: number of tokens of each text, `[texts]` int64.
    """
    every = (part for own in layers for part in (own.units, own.centred))
    return torch.stack([torch.segment_reduce(part, "sum", lengths=lengths, axis=0) for part in every], 1)


def sum_of_pairs(sums: torch.Tensor, default: torch.Tensor, lengths: torch.Tensor) -> tuple[Float64s, Float64s]:
    """Return the sums from which the mean over all pairs is computed; they can be added over texts.

    Args:
        sums, default: the `text_sums` of the same texts under a variant and under `default`.
        lengths: number of tokens of each text, `[texts]`.

    Returns:
        Two float64 arrays. The first is the sum of the unit vectors under the variant, `[2 * layers * width]`. The
        second contains the sum of the cosines of all pairs within a text, `[2 * layers]`, followed by the number of
        tokens and the number of these pairs.
    """
    own, wide = sums.double(), lengths.double()
    within = (own * default.double()).sum(2).sum(0)
    counts = torch.stack([wide.sum(), (wide * wide).sum()])
    return own.sum(0).flatten().cpu().numpy(), torch.cat([within, counts]).cpu().numpy()


def mean_of_pairs(units: Float64s, within: Float64s, default_units: Float64s, tokens: float) -> Float64s:
    """Return the mean cosine of all pairs of tokens of different texts, `[2 * layers]`; NaN if there are no pairs.

    Args:
        units, within: the sums of a variant, as `sum_of_pairs` returns them.
        default_units: the sum of the unit vectors under `default`.
        tokens: number of tokens in `default_units`.
    """
    cosines, (own, squares) = within[:-2], within[-2:]
    every = (units.reshape(len(cosines), -1) * default_units.reshape(len(cosines), -1)).sum(1)
    pairs = own * tokens - squares
    return np.clip((every - cosines) / pairs, -1, 1) if pairs > 0 else np.full(len(cosines), np.nan)


def _keys(sent_ids: Int64s, places: Int64s) -> UInt64s:
    return np.asarray(mix(sent_ids.astype(np.uint64)) + places.astype(np.uint64))
