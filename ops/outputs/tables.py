"""The rows of `outputs/tokens`, `outputs/neurons` and `outputs/checks`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float64s, Int64s
from ops.outputs.check_effects import agreement, direct_effect
from ops.outputs.names import MEASURES, SIDES
from ops.outputs.token_effects import Effects
from ops.outputs.token_head import LinearHead
from ops.outputs.written import Written
from ops.statistics.empirical_p import empirical_p

Row = dict[str, Any]


def token_rows(layer: int, units: Int64s, effects: Effects, std: Float64s, strings: Sequence[str]) -> pa.Table:
    """Return the rows of `outputs/tokens` for some units of a layer.

    A unit that changes all logits equally has no rows. Where the activation never varies, ranks are those of the
    direction and the logits are 0.

    Args:
        units, effects: the units, ascending, `[units]`, and their effects for one unit of activation.
        std: the standard deviation of each unit's activations, `[units]`.
        strings: the text of every token, by token id.
    """
    kept = np.flatnonzero(np.isfinite(effects.kurtosis))
    shown = effects.tokens[SIDES[0]].shape[1]
    ids = np.stack([effects.tokens[side][kept] for side in SIDES], 1)
    logits = np.stack([effects.logits[side][kept] for side in SIDES], 1) * std[kept, None, None] + 0.0  # no -0
    count = len(kept) * len(SIDES) * shown
    columns = {
        "layer": np.full(count, layer),
        "unit": np.repeat(units[kept], len(SIDES) * shown),
        "side": pa.array(list(np.repeat(np.array(SIDES, object), shown)) * len(kept), pa.string()),
        "rank": np.tile(np.arange(1, shown + 1), len(kept) * len(SIDES)),
        "token_id": ids.reshape(-1),
        "token": [strings[i] for i in ids.reshape(-1).tolist()],
        "logit": logits.reshape(-1),
    }
    return schema.table("outputs/tokens", columns)


def neuron_rows(
    layer: int,
    units: Int64s,
    effects: Effects,
    std: Float64s,
    random: Mapping[str, Float64s],
    norms: Float64s,
    cosines: Float64s | None,
) -> pa.Table:
    """Return the rows of `outputs/neurons` for some units of a layer.

    Args:
        random: for each measure, its values for the layer's random directions.
        norms: the norm of the vector that each unit writes, `[units]`.
        cosines: the cosine of this vector with the unit's input weights, `[units]`; None if these are not known.
    """
    columns: dict[str, Any] = {
        "layer": np.full(len(units), layer),
        "unit": units,
        "mean": effects.mean * std + 0.0,  # no -0
        "std": effects.std * std,
        "skew": effects.skew,
        "norm": norms,
        "cosine": np.full(len(units), np.nan) if cosines is None else cosines,
    }
    columns |= {name: getattr(effects, name) for name in MEASURES}
    columns |= {f"{name}_p": empirical_p(columns[name], random[name]) for name in MEASURES}
    return schema.table("outputs/neurons", columns)


def check_row(
    linear: LinearHead, written: Written, units: tuple[int, int | None], amount: float, change: Float64s, positions: int
) -> Row:
    """Return a row of `outputs/checks`.

    Args:
        written: the directions that the layer's units write.
        units: the unit whose activation was increased, and another unit of its layer, if there is one.
        change: the mean change of each token's logit, `[tokens]`.
        positions: number of positions over which the change was averaged.
    """
    unit, other = units
    correlation, slope = agreement(change, direct_effect(linear, written, unit, amount))
    shuffled = None if other is None else agreement(change, direct_effect(linear, written, other, amount))[0]
    return {
        "layer": written.layer, "unit": unit, "n": positions, "correlation": correlation, "slope": slope,
        "unit_b": other, "shuffled": shuffled,
    }  # fmt: skip
