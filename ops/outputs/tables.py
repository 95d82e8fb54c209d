"""The rows of the tables of `outputs`, and what they say in a sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Float64s, Int64s
from ops.outputs.check_effects import agreement, direct_effect
from ops.outputs.token_effects import MEASURES, SIDES, Effects, p_values
from ops.outputs.token_head import LinearHead
from ops.outputs.written import Written
from ops.schema import schema

Row = dict[str, Any]

UNITS, RANDOM = "units", "random"
BEYOND = 0.05  # share of random directions beyond the quantile that units are held against
_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 1 - BEYOND}


def token_rows(layer: int, units: Int64s, effects: Effects, std: Float64s, strings: Sequence[str]) -> pa.Table:
    """Return `outputs/tokens` of some units of a layer; none of a unit that changes all logits alike.

    Args:
        layer: the layer.
        units: ascending, `[units]`.
        effects: of these units, by unit of activation.
        std: standard deviation of each one's activations, `[units]`.
        strings: every token's, by id.
    """
    kept = np.flatnonzero(np.isfinite(effects.kurtosis))
    shown = effects.tokens[SIDES[0]].shape[1]
    ids = np.stack([effects.tokens[side][kept] for side in SIDES], 1)
    logits = np.stack([effects.logits[side][kept] for side in SIDES], 1) * std[kept, None, None]
    count = len(kept) * len(SIDES) * shown
    columns = {
        "layer": np.full(count, layer, np.int16),
        "unit": np.repeat(units[kept].astype(np.int32), len(SIDES) * shown),
        "side": pa.array(list(np.repeat(np.array(SIDES, object), shown)) * len(kept), pa.string()),
        "rank": np.tile(np.arange(1, shown + 1, dtype=np.int32), len(kept) * len(SIDES)),
        "token_id": ids.reshape(-1).astype(np.int32),
        "token": pa.array([strings[i] for i in ids.reshape(-1).tolist()], pa.string()),
        "logit": logits.reshape(-1).astype(np.float32),
    }
    return pa.table(columns, schema("outputs/tokens"))


def neuron_rows(
    layer: int,
    units: Int64s,
    effects: Effects,
    std: Float64s,
    random: Mapping[str, Float64s],
    norms: Float64s,
    cosines: Float64s | None,
) -> pa.Table:
    """Return `outputs/neurons` of some units of a layer.

    Args:
        layer, units, effects, std: as `token_rows` takes them.
        random: by measure that of the layer's random directions.
        norms: of what each unit writes, `[units]`.
        cosines: with its input weights, `[units]`; None where these are not known.
    """
    columns: dict[str, Any] = {
        "layer": np.full(len(units), layer, np.int16),
        "unit": units.astype(np.int32),
        "mean": effects.mean * std,
        "std": effects.std * std,
        "skew": pa.array(effects.skew, from_pandas=True),
    }
    columns |= {name: pa.array(getattr(effects, name), from_pandas=True) for name in MEASURES}
    for name in MEASURES:
        columns[f"{name}_p"] = pa.array(p_values(getattr(effects, name), random[name]), from_pandas=True)
    columns["norm"] = norms.astype(np.float32)
    known = np.full(len(units), np.nan) if cosines is None else cosines
    columns["cosine"] = pa.array(known.astype(np.float32), from_pandas=True)
    return pa.table(columns, schema("outputs/neurons"))


def control_rows(layer: int, measure: str, units: Float64s, random: Float64s) -> list[Row]:
    """Return the rows of `outputs/controls` of a layer and measure: of its units, and of random directions.

    Args:
        layer, measure: what is measured where.
        units, random: values; NaN where there is none.
    """
    null = random[np.isfinite(random)]
    limit = float(np.quantile(null, 1 - BEYOND)) if len(null) else np.nan
    rows = []
    for basis, values in ((UNITS, units), (RANDOM, random)):
        known = values[np.isfinite(values)]
        row: Row = {"layer": layer, "basis": basis, "measure": measure, "n": len(known)}
        row["mean"] = float(known.mean()) if len(known) else None
        row |= {name: float(np.quantile(known, q)) if len(known) else None for name, q in _QUANTILES.items()}
        row["beyond"] = float((known > limit).mean()) if len(known) and len(null) else None
        rows.append(row)
    return rows


def said_peaked(controls: Sequence[Row]) -> list[str]:
    """Return whether units' output distributions are any more peaked than random directions', in a sentence or two.

    The share of units beyond the 95 % point of random directions counts as another than 5 % where it differs by more
    than two standard errors: of the share, and of the point, which rests on the random directions of a layer.

    Args:
        controls: rows of `outputs/controls`.
    """
    rows = {(r["layer"], r["basis"]): r for r in controls if r["measure"] == MEASURES[0]}
    layers = sorted(layer for layer, basis in rows if basis == UNITS and rows[layer, basis]["beyond"] is not None)
    n = np.array([rows[layer, UNITS]["n"] for layer in layers], np.float64)
    if not n.sum():
        return []
    shares = np.array([rows[layer, UNITS]["beyond"] for layer in layers])
    drawn = np.array([rows[layer, RANDOM]["n"] for layer in layers], np.float64)
    weights = n / n.sum()
    share = float(weights @ shares)
    error = float(np.sqrt(BEYOND * (1 - BEYOND) * (1 / n.sum() + (weights**2 / drawn).sum())))
    is_more, is_less = share > BEYOND + 2 * error, share < BEYOND - 2 * error
    middle, null = (
        float(np.average([rows[layer, basis]["q50"] for layer in layers], weights=n)) for basis in (UNITS, RANDOM)
    )
    than = "more peaked than" if is_more else "less peaked than" if is_less else "no more peaked than"
    said = [
        f"What units do to the logits is {than} what random directions do: {100 * share:.1f} % of {int(n.sum()):,} "
        f"units are beyond the kurtosis that {100 * BEYOND:.0f} % of random directions exceed (median {middle:.2f}, of "
        f"random directions {null:.2f})."
    ]
    if len(layers) > 1:
        most, least = layers[int(np.argmax(shares))], layers[int(np.argmin(shares))]
        said.append(
            f"By layer the share is highest in layer {most} ({100 * shares.max():.1f} %) and lowest in layer {least} "
            f"({100 * shares.min():.1f} %)."
        )
    return said


def check_row(
    linear: LinearHead, written: Written, units: tuple[int, int | None], amount: float, change: Float64s, positions: int
) -> Row:
    """Return a row of `outputs/checks`.

    Args:
        linear: the head.
        written: what the layer's units write.
        units: the unit that was raised, and another one of its layer, if there is one.
        amount: by how much.
        change: the mean change of each token's logit, `[tokens]`.
        positions: those over which it is the mean.
    """
    unit, other = units
    found = agreement(change, direct_effect(linear, written, unit, amount))
    shuffled = None if other is None else agreement(change, direct_effect(linear, written, other, amount)).correlation
    return {
        "layer": written.layer, "unit": unit, "n": positions, "correlation": _number(found.correlation),
        "slope": _number(found.slope), "other": other, "shuffled": None if shuffled is None else _number(shuffled),
    }  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
