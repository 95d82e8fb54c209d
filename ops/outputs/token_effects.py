"""A unit's effect on the logits of all tokens: the most affected tokens, the moments, and how peaked the effect is."""

from dataclasses import dataclass

import numpy as np
import torch

from ops.arrays import Float32s, Float64s, Int64s
from ops.outputs.names import SHOWN, SIDES
from ops.outputs.token_head import LinearHead
from ops.outputs.written import Written
from ops.reducers.moments import Moments
from ops.sampling import RANDOM_DIRECTIONS
from ops.statistics.highest import highest

_VALUES_AT_ONCE = 1 << 22  # maximum number of logits in memory: a block of units times all tokens


@dataclass(frozen=True)
class Effects:
    """The changes of the tokens' logits for one unit of activation of each unit.

    Measures of shape are NaN for a unit that changes all logits equally.

    Attributes:
        mean, std, skew, kurtosis: moments of the changes over the tokens, `[units]`; kurtosis is excess kurtosis.
        extreme: the largest distance of a token's change from the mean, in standard deviations, `[units]`.
        tokens: for each side, the ids of the most affected tokens, the most affected first, `[units, SHOWN]`.
        logits: for each side, the changes of these tokens' logits, `[units, SHOWN]`.
    """

    mean: Float64s
    std: Float64s
    skew: Float64s
    kurtosis: Float64s
    extreme: Float64s
    tokens: dict[str, Int64s]
    logits: dict[str, Float32s]


def token_effects(head: LinearHead, directions: torch.Tensor, shown: int = SHOWN) -> Effects:
    """Return the effects of directions `[units, width]` on the tokens' logits, computed a block of units at a time.

    Tokens whose logits change equally are sorted by their ids.
    """
    block = max(_VALUES_AT_ONCE // max(len(head.tokens), 1), 1)
    parts = [_of_block(head, own, min(shown, len(head.tokens))) for own in directions.split(block)]
    names = ("mean", "std", "skew", "kurtosis", "extreme")
    return Effects(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
        tokens={side: np.concatenate([part.tokens[side] for part in parts]) for side in SIDES},
        logits={side: np.concatenate([part.logits[side] for part in parts]) for side in SIDES},
    )


def _of_block(head: LinearHead, directions: torch.Tensor, shown: int) -> Effects:
    logits = head.logits(directions)
    moments = Moments.of(logits.T)
    std = moments.std
    # A unit that writes nothing, or only directions that the head ignores, causes no changes except rounding errors.
    varies = std > 1e-7 * np.maximum(np.abs(moments.min), np.abs(moments.max))
    furthest = np.maximum(moments.max - moments.mean, moments.mean - moments.min)
    extreme = np.divide(furthest, std, out=np.full(len(std), np.nan), where=varies)
    changes, kept = logits.cpu().numpy(), head.tokens.cpu().numpy()
    ids, values = {}, {}
    for side, sign in zip(SIDES, (1, -1), strict=True):
        places = highest(changes * np.float32(sign), shown)
        ids[side], values[side] = kept[places], np.take_along_axis(changes, places, 1)
    skew, kurtosis = (np.where(varies, value, np.nan) for value in (moments.skew, moments.kurtosis))
    return Effects(moments.mean, std, skew, kurtosis, extreme, ids, values)


def random_effects(head: LinearHead, written: Written, count: int, seed: int) -> Effects:
    """Return the effects of a layer's random directions, which `Written.mixed` draws with a seed."""
    state = int(np.random.default_rng([seed, RANDOM_DIRECTIONS, written.layer]).integers(1 << 62))
    directions = written.mixed(count, torch.Generator().manual_seed(state))
    return token_effects(head, directions, 1)
