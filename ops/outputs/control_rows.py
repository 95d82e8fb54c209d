"""Compares how peaked the outputs of units and random directions are: `outputs/controls`, and a summary in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops.arrays import Float64s
from ops.outputs.names import MEASURES, RANDOM, UNITS

Row = dict[str, Any]

BEYOND = 0.05  # the share of random directions beyond the quantile with which units are compared
_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 1 - BEYOND}


def control_rows(layer: int, measure: str, units: Float64s, random: Float64s) -> list[Row]:
    """Return the two rows of `outputs/controls` for a layer and measure: for its units and for random directions.

    `units` and `random` are the values of the measure; NaN for a missing value.
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
    """Return one or two sentences that say whether units' outputs are more peaked than those of random directions.

    The share of units beyond the 95 % point of random directions is called different from 5 % if it differs by more
    than two standard errors. The standard error includes that of the share and that of the 95 % point, which is
    estimated from the random directions of a layer. `controls` are the rows of `outputs/controls`.
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
    sentences = [
        f"What units do to the logits is {than} what random directions do: {100 * share:.1f} % of {int(n.sum()):,} "
        f"units are beyond the kurtosis that {100 * BEYOND:.0f} % of random directions exceed (median {middle:.2f}, of "
        f"random directions {null:.2f})."
    ]
    highest, lowest = (f"{100 * end:.1f} %" for end in (shares.max(), shares.min()))
    if highest != lowest:
        most, least = layers[int(np.argmax(shares))], layers[int(np.argmin(shares))]
        sentences.append(
            f"By layer the share is highest in layer {most} ({highest}) and lowest in layer {least} ({lowest})."
        )
    return sentences


def said_checked(checks: Sequence[Row]) -> list[str]:
    """Return the result of the rows of `outputs/checks` in a sentence; empty if no unit has a correlation."""
    own, shuffled = ([r[name] for r in checks if r[name] is not None] for name in ("correlation", "shuffled"))
    if not own:
        return []
    beside = ""
    if shuffled:
        beside = f", and with the direct effect of another unit of the layer {np.median(shuffled):.2f}"
    return [
        f"Check: {len(own):,} units were raised by one standard deviation in real sentences. The change of the logits "
        f"has a median correlation of {np.median(own):.2f} with the direct effect{beside}."
    ]
