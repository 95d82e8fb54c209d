"""Pairs of tokens of different texts: the mean cosine of all of them, and the spread of some that are drawn.

The product of two sums of unit vectors is the sum of the cosines of all pairs. So the mean over all pairs of tokens of
different texts follows from one sum for each layer and variant, without the pairs within a text. It is exact, and the
same however texts are spread over batches and shards. A spread does not follow from sums. For it each token is paired
with one token of a panel, which the pilot draws from its texts.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from ops.arrays import Bools, Float32s, Float64s, Int64s, UInt64s
from ops.hashing import mix
from ops.positions.compare import Vectors
from ops.sampling import PAIRS, PANEL, priorities

PANEL_TOKENS = 512


class Panel(NamedTuple):
    """The tokens with which others are paired.

    Attributes:
        sent_ids: the text of each, `[tokens]` int64.
        states: its default state in each layer, `[layers, tokens, width]` float32.
    """

    sent_ids: Int64s
    states: Float32s


class PanelDraw:
    """A seeded uniform draw of tokens as texts come; it does not depend on their order or on their batches."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._drawn: tuple[UInt64s, Int64s, Float32s] | None = None

    def add(self, sent_ids: Int64s, places: Int64s, states: torch.Tensor) -> None:
        """Add tokens.

        Args:
            sent_ids, places: the text of each token and its place there, `[tokens]` int64.
            states: their states, `[layers, tokens, width]` float32.
        """
        rank = priorities(_keys(sent_ids, places), self.seed, PANEL)
        first = np.argsort(rank, kind="stable")[:PANEL_TOKENS]
        new = (rank[first], sent_ids[first], states[:, torch.from_numpy(first).to(states.device)].cpu().numpy())
        if self._drawn is not None:
            ranks, texts, before = self._drawn
            new = (
                np.concatenate([ranks, new[0]]),
                np.concatenate([texts, new[1]]),
                np.concatenate([before, new[2]], axis=1),
            )
        first = np.argsort(new[0], kind="stable")[:PANEL_TOKENS]
        self._drawn = (new[0][first], new[1][first], new[2][:, first])

    def result(self) -> Panel:
        """Return the tokens that are drawn; none where there were none."""
        if self._drawn is None:
            return Panel(np.zeros(0, np.int64), np.zeros((0, 0, 0), np.float32))
        return Panel(*self._drawn[1:])


def draw_partners(panel: Int64s, sent_ids: Int64s, places: Int64s, seed: int) -> tuple[Int64s, Bools]:
    """Return the token of the panel with which each token is paired, and whether it is of another text.

    Args:
        panel: the texts of the panel's tokens, `[panel]` int64.
        sent_ids, places: the text of each token and its place there, `[tokens]` int64.
        seed: the run's.
    """
    drawn = priorities(_keys(sent_ids, places), seed, PAIRS) % np.uint64(len(panel))
    partners = drawn.astype(np.int64)
    return partners, np.asarray(panel[partners] != sent_ids)


def text_sums(layers: Sequence[Vectors], lengths: torch.Tensor) -> torch.Tensor:
    """Return the sum of each text's unit vectors, `[texts, 2 * layers, width]` float32: as they are and centred.

    Args:
        layers: the tokens' directions in each layer, text after text.
        lengths: tokens of each text, `[texts]` int64.
    """
    every = (part for own in layers for part in (own.units, own.centred))
    return torch.stack([torch.segment_reduce(part, "sum", lengths=lengths, axis=0) for part in every], 1)


def sum_of_pairs(found: torch.Tensor, default: torch.Tensor, lengths: torch.Tensor) -> tuple[Float64s, Float64s]:
    """Return what the mean over all pairs is made of, to be added up over all texts.

    Args:
        found, default: the `text_sums` of the same texts under a variant and as they are.
        lengths: their tokens, `[texts]`.

    Returns:
        The sum of the unit vectors under the variant, `[2 * layers * width]`. Then the sum of the cosines of all pairs
        within a text, `[2 * layers]`, the number of tokens, and that of these pairs. Both float64.
    """
    own, wide = found.double(), lengths.double()
    within = (own * default.double()).sum(2).sum(0)
    counts = torch.stack([wide.sum(), (wide * wide).sum()])
    return own.sum(0).flatten().cpu().numpy(), torch.cat([within, counts]).cpu().numpy()


def mean_of_pairs(units: Float64s, within: Float64s, default_units: Float64s, tokens: float) -> Float64s:
    """Return the mean cosine of all pairs of tokens of different texts, `[2 * layers]`; NaN where there are none.

    Args:
        units, within: the sums of a variant, as `sum_of_pairs` returns them.
        default_units: the unit vectors' sum by default.
        tokens: how many tokens that one is of.
    """
    cosines, (own, squares) = within[:-2], within[-2:]
    every = (units.reshape(len(cosines), -1) * default_units.reshape(len(cosines), -1)).sum(1)
    pairs = own * tokens - squares
    return np.clip((every - cosines) / pairs, -1, 1) if pairs > 0 else np.full(len(cosines), np.nan)


def _keys(sent_ids: Int64s, places: Int64s) -> UInt64s:
    return np.asarray(mix(sent_ids.astype(np.uint64)) + places.astype(np.uint64))
