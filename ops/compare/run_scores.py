"""The scores of a run compared with those of a control, such as a run with random weights or rotated directions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import Bools, Float64s, Int64s
from ops.shards import spans
from ops.statistics.interval import Interval
from ops.statistics.resampling import percentile_interval, resample
from ops.storage.store import Store
from ops.topk.silent import read_heard

TABLE = "compare/runs"
QUANTILE = 0.95  # quantile of the control; `share_above` is the share of values above it
BY_CHANCE = 1 - QUANTILE
DRAWN_AT_ONCE = 50  # number of resamples whose weights are in memory at once
_UNITS_PER_LAYER = 1 << 32


# The measures of each table by name: a column, or two columns of which the second is subtracted from the first.
# A run may lack any of these tables.
MEASURES: dict[str, dict[str, tuple[str, ...]]] = {
    "scores": {name: (name,) for name in ("auc", "auc_excess")},
    "explanations": {
        **{name: (name,) for name in ("average_precision", "f1", "auc", "precision", "recall")},
        "f1_beyond_nuisance": ("f1", "nuisance_f1"),
        "f1_beyond_matched": ("f1", "matched_f1"),
        "f1_beyond_chance": ("f1", "chance_f1"),
        "margin": ("margin",),
        "r2": ("r2",),
        "r2_beyond": ("r2", "r2_nuisance"),
    },
    "audit/neurons": {name: (name,) for name in ("transfer", "illusion", "ported", "eta_squared", "r2_within")},
}
# Both poles of a neuron have the same value of these, so the neuron counts once.
_OF_NEURONS = ("r2", "r2_beyond", "eta_squared", "r2_within")
VERDICT = "verdict"

Stores = tuple[Store, Store]  # the folders of a run and of its control


@dataclass(frozen=True)
class Values:
    """A measure's values in one run; missing values are omitted.

    Attributes:
        layer: the layer of each value, `[values]`.
        neuron: a number that both poles of a neuron share, `[values]`.
    """

    layer: Int64s
    neuron: Int64s
    value: Float64s

    def where(self, kept: Bools) -> "Values":
        """Return the values that `kept [values]` marks."""
        return Values(self.layer[kept], self.neuron[kept], self.value[kept])


def read_values(store: Store, table: str, poles: tuple[str, ...], layers: tuple[int, ...]) -> dict[str, Values]:
    """Return the values of a table's measures by name; a verdict has the value 1 if it was given, and 0 otherwise.

    Silent neurons, other poles and other layers are skipped, as are measures whose columns the table lacks.
    """
    rows = read_heard(store, table, pc.field("pole").isin(list(poles)) & pc.field("layer").isin(list(layers)))
    layer = rows["layer"].to_numpy().astype(np.int64)
    neuron = layer * _UNITS_PER_LAYER + rows["unit"].to_numpy()
    first = np.zeros(len(neuron), bool)
    first[np.unique(neuron, return_index=True)[1]] = True
    values = {}
    for name, columns in MEASURES[table].items():
        if set(columns) <= set(rows.column_names):
            numbers = [pc.fill_null(rows[column].cast(pa.float64()), np.nan).to_numpy() for column in columns]
            value = numbers[0] - numbers[1] if len(numbers) > 1 else numbers[0]
            values[name] = Values(layer, neuron, value).where(np.isfinite(value) & (first | (name not in _OF_NEURONS)))
    if VERDICT in rows.column_names:
        for verdict in sorted(rows[VERDICT].unique().to_pylist()):
            given = pc.equal(rows[VERDICT], verdict).to_numpy().astype(np.float64)
            values[f"{VERDICT} {verdict}"] = Values(layer, neuron, given)
    return values


def read_both(
    stores: Stores, table: str, poles: tuple[str, ...], layers: tuple[int, ...]
) -> tuple[dict[str, Values], dict[str, Values]]:
    """Return `read_values` of a run and of its control; a verdict that only one of them gave is 0 in the other."""
    measured, control = (read_values(store, table, poles, layers) for store in stores)
    names = sorted({name for name in (*measured, *control) if name.startswith(VERDICT)})

    def filled(values: dict[str, Values]) -> dict[str, Values]:
        none = [replace(values[name], value=np.zeros_like(values[name].value)) for name in names if name in values]
        return dict.fromkeys(names, none[0]) | values if none else values

    return filled(measured), filled(control)


def compared_rows(
    table: str, values: Mapping[str, Values], control: Mapping[str, Values], layers: tuple[int, ...], resamples: int,
    seed: tuple[int, ...],
) -> pa.Table:  # fmt: skip
    """Return the rows of `compare/runs` for one table: each measure by layer, and over all layers together.

    Args:
        layers: the layers that both runs have.
        values, control: the values in both runs, by measure; measures that only one run has are skipped.
        resamples, seed: number of bootstrap samples for the interval of `share_above`, and the seed of the draws. Each
            resamples the neurons of both runs, always with both poles of a neuron.
    """
    names = [name for name in values if name in control]
    rows: list[dict[str, Any]] = []
    for layer in (*layers, None):
        pairs = {name: (values[name], control[name]) for name in names}
        if layer is not None:
            pairs = {name: (a.where(a.layer == layer), b.where(b.layer == layer)) for name, (a, b) in pairs.items()}
        pairs = {name: pair for name, pair in pairs.items() if all(len(side.value) for side in pair)}
        measured = {name: pair for name, pair in pairs.items() if not name.startswith(VERDICT)}
        rng = np.random.default_rng([*seed, 0 if layer is None else layer + 1])
        ends = share_intervals(measured, resamples, rng) if measured else {}
        for name, (mine, theirs) in pairs.items():
            row: dict[str, Any] = {"table": table, "measure": name, "layer": layer}
            for prefix, side in (("", mine), ("control_", theirs)):
                row |= {f"{prefix}n": len(side.value), f"{prefix}mean": float(side.value.mean())}
            if name in ends:
                limit = float(np.quantile(theirs.value, QUANTILE))
                row |= {"median": float(np.median(mine.value)), "control_median": float(np.median(theirs.value))}
                row |= {"control_q95": limit, **ends[name].columns("share_above", "share")}
            rows.append(row)
    return schema.table(TABLE, rows)


def share_intervals(
    measured: Mapping[str, tuple[Values, Values]], resamples: int, rng: np.random.Generator
) -> dict[str, Interval]:
    """Return each measure's share above the control's 95 % quantile, with its interval by a bootstrap over neurons.

    The neurons of both runs are drawn `resamples` times.
    """
    neurons, sides = [], []
    for side in zip(*measured.values(), strict=True):
        known, orders = np.unique(np.concatenate([v.neuron for v in side])), [np.argsort(v.value) for v in side]
        neurons.append(len(known))
        sides.append([(v.value[o], np.searchsorted(known, v.neuron[o])) for v, o in zip(side, orders, strict=True)])
    shares: list[list[float]] = []
    for first, stop in spans(resamples, DRAWN_AT_ONCE):
        times, control = (resample(number, rng, stop - first) for number in neurons)
        for drawn, drawn_b in zip(times[min(first, 1) :], control[min(first, 1) :], strict=True):
            of_both = zip(*sides, strict=True)
            shares.append([share_above(v, drawn[at], quantile(w, drawn_b[at_b])) for (v, at), (w, at_b) in of_both])
    return {
        name: percentile_interval(drawn, len(np.unique(values.neuron)))
        for (name, (values, _)), drawn in zip(measured.items(), np.array(shares).T, strict=True)
    }


def quantile(ascending: Float64s, counts: Float64s) -> float:
    """Return the 95 % quantile (see np.quantile) of sorted values, each repeated as often as it counts; NaN if none."""
    ends = np.cumsum(counts)
    if not ends[-1]:
        return np.nan
    at = QUANTILE * (ends[-1] - 1)
    low, high = ascending[np.searchsorted(ends, [np.floor(at), np.ceil(at)], "right")]
    return float(low + (at - np.floor(at)) * (high - low))


def share_above(ascending: Float64s, counts: Float64s, limit: float) -> float:
    """Return the share of sorted values above a limit, each repeated as often as it counts; NaN if undefined."""
    above = counts[np.searchsorted(ascending, limit, "right") :].sum()
    return float(above / counts.sum()) if counts.any() and np.isfinite(limit) else np.nan
