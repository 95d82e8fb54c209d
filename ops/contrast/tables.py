"""The rows of contrast/units, contrast/probes and contrast/controls, from what was measured layer by layer."""

from collections.abc import Mapping
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
        contrast: the contrast.
        layers: what was measured of the units of each layer.
        units: the number of each of these units within its layer.
        spread: the standard deviation of each of these units over the corpus.
    """
    is_a = contrast.is_a
    found = {name: _joined(layers, name) for name in vars(next(iter(layers.values()))) if name != "largest"}
    layer, unit = np.repeat(list(layers), [len(units[own]) for own in layers]), np.concatenate(list(units.values()))
    deviation = np.concatenate([spread[own] for own in layers])
    difference = np.divide(found["mean_a"] - found["mean_b"], deviation, out=np.zeros(len(unit)), where=deviation > 0)
    columns: dict[str, Any] = {name: found[name] for name in ("mean_a", "mean_b", "active_a", "active_b", "lift", "g2")}
    columns |= {"layer": layer, "unit": unit, "difference": difference}
    for name in ("auc", "matched_auc"):
        columns |= {f"{name}{end}": own for end, own in zip(_ENDS, found[name], strict=True)}
    counts = {"n_a": is_a.sum(), "n_b": (~is_a).sum(), "documents_a": contrast.documents_of(is_a)}
    counts |= {"documents_b": contrast.documents_of(~is_a)}
    columns |= {name: np.full(len(unit), count) for name, count in counts.items()}
    columns["group"] = [contrast.group] * len(unit)
    columns["q_value"] = known_q_values(found["p"])
    largest = np.maximum.reduce([own.largest for own in layers.values()])
    columns["p_family"] = empirical_p(np.abs(found["distance"]), largest)
    order = np.lexsort((unit, layer, -np.abs(difference), -_worth(found)))
    columns["rank"] = np.empty(len(unit), np.int64)
    columns["rank"][order] = 1 + np.arange(len(unit))
    return schema.table("contrast/units", columns)


def _joined(layers: Mapping[int, Separation], name: str) -> Float64s:
    return np.asarray(np.concatenate([getattr(own, name) for own in layers.values()], -1))


def _worth(found: Mapping[str, Float64s]) -> Float64s:
    """Return what units are ranked by: the distance of the interval from 0.5, or for features G2 by design effect."""
    if not np.isnan(found["g2"]).all():
        return np.asarray(np.abs(found["g2"]) / found["effect"])
    _, low, high = found["matched_auc"]
    return np.asarray(np.nan_to_num(np.maximum(low - 0.5, 0.5 - high), nan=-1.0))


def known_q_values(p: Float64s) -> Float64s:
    """Return the false discovery rate of each p-value among those that are known; NaN for NaN."""
    found, known = np.full(len(p), np.nan), ~np.isnan(p)
    found[known] = q_values(p[known])
    return found


def control_rows(group: str, bases: Mapping[str, Mapping[int, Separation]]) -> list[Row]:
    """Return the rows of contrast/controls of a contrast, given what was measured in each basis and layer."""
    rows: list[Row] = []
    for control, layers in bases.items():
        q = known_q_values(_joined(layers, "p"))
        ends = np.cumsum([len(own.p) for own in layers.values()])
        for (layer, own), of_layer in zip(layers.items(), np.split(q, ends[:-1]), strict=True):
            row: Row = {"group": group, "layer": layer, "control": control}
            for measure in ("auc", "matched_auc"):
                values = getattr(own, measure)[0]
                known = values[~np.isnan(values)]
                places = np.quantile(known, list(QUANTILES.values())) if len(known) else [None] * len(QUANTILES)
                quantiles = dict(zip(QUANTILES, places, strict=True))
                rows.append(row | {"measure": measure, "n": len(known), "mean": _mean(known)} | quantiles)
            known = of_layer[~np.isnan(of_layer)]
            rows.append(row | {"measure": "significant", "n": len(known), "mean": _mean(known < LEAST_Q)})
    return rows


def _mean(values: Arrays) -> float | None:
    return float(values.mean()) if len(values) else None


class ProbeRows:
    """Makes the rows of contrast/probes of a contrast.

    Args:
        contrast: the contrast.
        units: the scores of the best units of each layer.
        rotated: those of the best axes of each rotation, by layer; empty if there are none.
        layers: those of all units of each layer.
        random: those of the best units of each layer with random weights; empty if there are none.
        words: those of words.
    """

    def __init__(
        self, contrast: Contrast, units: Mapping[int, Scores], rotated: Mapping[int, list[Scores]],
        layers: Mapping[int, Scores], random: Mapping[int, Scores], words: Scores,
    ) -> None:  # fmt: skip
        self.contrast, self.units, self.rotated, self.layers = contrast, units, rotated, layers
        self.random, self.words = random, words

    def rows(self) -> list[Row]:
        """Return all rows, those of the layer that is chosen on the training documents among them."""
        rows = [self._row(WORDS, None, None, self._areas([self.words.held_out[:, 0]]).areas()[:, 0])]
        for layer, own in self.layers.items():
            rows.append(self._row(LAYER, layer, None, self._areas([own.held_out[:, 0]]).areas()[:, 0]))
            for place, k in enumerate(KS[: self.units[layer].held_out.shape[1]]):
                rows += self._compared(layer, k, self._columns(dict.fromkeys(range(FOLDS), layer), place))
        for place, k in enumerate(KS):
            if chosen := self._chosen(place):
                rows += self._compared(None, k, self._columns(chosen, place))
        return rows

    def _chosen(self, place: int) -> dict[int, int]:
        """Return the layer whose units are best within the training documents of each fold."""
        inner = {layer: own.inner[:, place] for layer, own in self.units.items() if place < own.inner.shape[1]}
        if not inner:
            return {}
        areas = np.nan_to_num(np.stack(list(inner.values())), nan=0.0)
        return {fold: list(inner)[int(best)] for fold, best in enumerate(areas.argmax(0))}

    def _columns(self, layers: Mapping[int, int], place: int) -> dict[str, list[Float64s]]:
        """Return the scores of each basis by the probe at a place, each fold in its layer."""
        folds = self.contrast.folds // 2

        def by_fold(of_layer: Mapping[int, Scores], at: int) -> Float64s:
            scores = np.full(len(folds), np.nan)
            for fold, layer in layers.items():
                own = of_layer[layer].held_out
                if at < own.shape[1]:
                    scores[folds == fold] = own[folds == fold, at]
            return scores

        found = {UNITS: [by_fold(self.units, place)], LAYER: [by_fold(self.layers, 0)]}
        found[WORDS] = [self.words.held_out[:, 0]]
        if self.random:
            found[RANDOM] = [by_fold(self.random, place)]
        if self.rotated:
            rotations = range(len(next(iter(self.rotated.values()))))
            found[ROTATED] = [by_fold({a: own[r] for a, own in self.rotated.items()}, place) for r in rotations]
        return found

    def _compared(self, layer: int | None, k: int, columns: Mapping[str, list[Float64s]]) -> list[Row]:
        """Return the rows of a layer and number of units: units, rotated axes, and random weights."""
        bases = list(columns)
        starts = dict(zip(bases, np.cumsum([0, *map(len, columns.values())]).tolist(), strict=False))
        areas = self._areas([own for several in columns.values() for own in several])
        found = areas.areas()
        row = self._row(UNITS, layer, k, found[:, 0])
        rows = [row]
        for basis in bases[1:]:
            own = slice(starts[basis], starts[basis] + len(columns[basis]))
            weights = np.zeros(found.shape[1])
            weights[0], weights[own] = 1.0, -1 / len(columns[basis])
            values = found[0, own]
            # Ten rotations are a sample of all rotations.
            variance = float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0
            row |= _with_ends(f"over_{basis}", areas.combined(weights, variance))
            if basis == ROTATED:
                rows.append(self._row(basis, layer, k, np.array([np.median(values), values.min(), values.max()])))
            elif basis == RANDOM or (basis == LAYER and layer is None):
                rows.append(self._row(basis, layer, k, found[:, own][:, 0]))
        return rows

    def _areas(self, columns: list[Float64s]) -> FoldAreas:
        contrast = self.contrast
        return FoldAreas.of(np.stack(columns, 1), contrast.is_a, contrast.documents, contrast.folds // 2)

    def _row(self, basis: str, layer: int | None, k: int | None, auc: Float64s) -> Row:
        return {"group": self.contrast.group, "basis": basis, "layer": layer, "k": k, **_with_ends("auc", auc)}


def _with_ends(name: str, values: Any) -> Row:
    return {f"{name}{end}": float(value) for end, value in zip(_ENDS, values, strict=True)}
