"""The rows of contrast/units, contrast/probes and contrast/controls, from what was measured layer by layer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Arrays, Float64s, Int64s
from ops.contrast.groups import Contrast
from ops.contrast.probes import FOLDS, KS, Scores
from ops.contrast.units import Separation
from ops.figures.lines import QUANTILES
from ops.statistics.empirical_p import empirical_p
from ops.statistics.false_discovery import q_values
from ops.statistics.fold_areas import FoldAreas
from ops.statistics.interval import Interval

Row = dict[str, Any]

UNITS, ROTATED, PERMUTED = "units", "rotated", "permuted"
LAYER, WORDS, RANDOM = "layer", "words", "random"
LEAST_Q = 0.05
_ENDS = ("", "_low", "_high")


def units_table(
    contrast: Contrast, layers: Mapping[int, Separation], units: Mapping[int, Int64s], spread: Mapping[int, Float64s]
) -> pa.Table:
    """Return the rows of contrast/units of a contrast.

    Args:
        units: the number of each of these units within its layer.
        spread: the standard deviation of each of these units over the corpus.
    """
    joined: dict[str, Any] = {
        name: _joined(layers, name) for name in vars(next(iter(layers.values()))) if name != "largest"
    }
    layer, unit = np.repeat(list(layers), [len(units[i]) for i in layers]), np.concatenate(list(units.values()))
    deviation = np.concatenate([spread[i] for i in layers])
    difference = np.divide(joined["mean_a"] - joined["mean_b"], deviation, out=np.zeros(len(unit)), where=deviation > 0)
    largest = np.maximum.reduce([measured.largest for measured in layers.values()])
    order = np.lexsort((unit, layer, -np.abs(difference), -_worth(joined)))
    columns = joined | {
        "group": [contrast.group] * len(unit), "layer": layer, "unit": unit, "difference": difference,
        "q_value": known_q_values(joined["p"]), "p_family": empirical_p(np.abs(joined["distance"]), largest),
        "rank": 1 + np.argsort(order),
    }  # fmt: skip
    for name in ("auc", "matched_auc"):
        columns |= {f"{name}{end}": values for end, values in zip(_ENDS, joined[name], strict=True)}
    for name, group in (("a", contrast.is_a), ("b", ~contrast.is_a)):
        columns[f"n_{name}"] = np.full(len(unit), group.sum())
        columns[f"documents_{name}"] = np.full(len(unit), contrast.documents_of(group))
    return schema.table("contrast/units", columns)


def _joined(layers: Mapping[int, Separation], name: str) -> Float64s:
    return np.asarray(np.concatenate([getattr(measured, name) for measured in layers.values()], -1))


def _worth(measures: Mapping[str, Float64s]) -> Float64s:
    """Return what units are ranked by: the distance of the interval from 0.5, or for features G2 by design effect."""
    if not np.isnan(measures["g2"]).all():
        return np.asarray(np.abs(measures["g2"]) / measures["effect"])
    _, low, high = measures["matched_auc"]
    return np.asarray(np.nan_to_num(np.maximum(low - 0.5, 0.5 - high), nan=-1.0))


def known_q_values(p: Float64s) -> Float64s:
    """Return the false discovery rate of each p-value among those that are known; NaN for NaN."""
    q, known = np.full(len(p), np.nan), ~np.isnan(p)
    q[known] = q_values(p[known])
    return q


def control_rows(group: str, bases: Mapping[str, Mapping[int, Separation]]) -> list[Row]:
    """Return the rows of contrast/controls of a contrast, given what was measured in each basis and layer."""
    rows: list[Row] = []
    for control, layers in bases.items():
        q = known_q_values(_joined(layers, "p"))
        ends = np.cumsum([len(measured.p) for measured in layers.values()])
        for (layer, measured), of_layer in zip(layers.items(), np.split(q, ends[:-1]), strict=True):
            row: Row = {"group": group, "layer": layer, "control": control}
            for measure in ("auc", "matched_auc"):
                values = getattr(measured, measure)[0]
                known = values[~np.isnan(values)]
                places = np.quantile(known, list(QUANTILES.values())) if len(known) else [None] * len(QUANTILES)
                quantiles = dict(zip(QUANTILES, places, strict=True))
                rows.append(row | {"measure": measure, "n": len(known), "mean": _mean(known)} | quantiles)
            known = of_layer[~np.isnan(of_layer)]
            rows.append(row | {"measure": "significant", "n": len(known), "mean": _mean(known < LEAST_Q)})
    return rows


def _mean(values: Arrays) -> float | None:
    return float(values.mean()) if len(values) else None


Layers = Mapping[int | None, Scores]
Columns = dict[str, Float64s]  # the scores of each basis, `[scores, n]`; those of rotations are several


def probe_rows(contrast: Contrast, scores: Mapping[str, Layers]) -> list[Row]:
    """Return the rows of contrast/probes of a contrast.

    `scores` are those of each basis by layer: `UNITS`, `LAYER`, `WORDS` (whose layer is None), and `ROTATED` and
    `RANDOM` if there are any.
    """
    rows: list[Row] = []
    for basis in (WORDS, LAYER):
        for layer, own in scores[basis].items():
            rows.append(_row(contrast, basis, layer, None, _areas(contrast, own.held_out.T).areas()[:, 0]))
    for place, k in enumerate(KS):
        layers = {layer: own.inner[:, place] for layer, own in scores[UNITS].items() if place < own.inner.shape[1]}
        for layer in layers:
            rows += _compared(contrast, layer, k, _columns(contrast, scores, [layer] * FOLDS, place))
        if layers:
            best = np.nan_to_num(np.stack(list(layers.values())), nan=0.0).argmax(0)
            chosen = [list(layers)[int(number)] for number in best]
            rows += _compared(contrast, None, k, _columns(contrast, scores, chosen, place))
    return rows


def _columns(contrast: Contrast, scores: Mapping[str, Layers], layers: Sequence[int | None], place: int) -> Columns:
    """Return the scores of each basis by the probe at a place, each fold in its layer; NaN where there is no probe."""
    folds, columns = contrast.folds // 2, {}
    for basis, of_layer in scores.items():
        at = 0 if basis in (LAYER, WORDS) else place
        column = np.full(next(iter(of_layer.values())).held_out.shape[:-1], np.nan)
        for fold, layer in enumerate(layers):
            held_out = of_layer[None if basis == WORDS else layer].held_out
            if at < held_out.shape[-1]:
                column[..., folds == fold] = held_out[..., folds == fold, at]
        columns[basis] = np.atleast_2d(column)
    return columns


def _compared(contrast: Contrast, layer: int | None, k: int, columns: Columns) -> list[Row]:
    """Return the rows of a layer and number of units: units with their differences, and the bases that depend on k."""
    areas = _areas(contrast, np.concatenate(list(columns.values())))
    estimates = areas.areas()
    starts = dict(zip(columns, np.cumsum([0, *map(len, columns.values())]).tolist(), strict=False))
    row = _row(contrast, UNITS, layer, k, estimates[:, starts[UNITS]])
    rows = [row]
    for basis in [name for name in columns if name != UNITS]:
        block = slice(starts[basis], starts[basis] + len(columns[basis]))
        values, weights = estimates[0, block], np.zeros(estimates.shape[1])
        weights[starts[UNITS]], weights[block] = 1.0, -1 / len(values)
        # Ten rotations are a sample of all rotations.
        variance = float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0
        row |= Interval(*areas.combined(weights, variance)).columns(f"over_{basis}")
        if basis == ROTATED:
            middle = np.array([np.median(values), values.min(), values.max()])
            rows.append(_row(contrast, basis, layer, k, middle))
        elif basis == RANDOM or (basis == LAYER and layer is None):
            rows.append(_row(contrast, basis, layer, k, estimates[:, block][:, 0]))
    return rows


def _areas(contrast: Contrast, scores: Float64s) -> FoldAreas:
    return FoldAreas.of(scores.T, contrast.is_a, contrast.documents, contrast.folds // 2)


def _row(contrast: Contrast, basis: str, layer: int | None, k: int | None, area: Float64s) -> Row:
    """Return the columns that all rows of contrast/probes have; `area` is followed by the ends of its interval."""
    return {"group": contrast.group, "basis": basis, "layer": layer, "k": k} | Interval(*area).columns("auc")
