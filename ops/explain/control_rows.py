"""The rows of `explain/controls`: how well neurons are explained, compared with random axes and shuffled sentences."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Floats
from ops.explain.range_model import RangeModels

BASES = ("neurons", "rotated", "shuffled")
MODELS = ("range", "winners")
R2_BEYOND = "r2_beyond"
QUANTILES = (5, 25, 50, 75, 95)  # in %


def range_measures(models: RangeModels) -> dict[str, Floats]:
    """Return those measures of range models that are summarised, by name, with one value for each unit."""
    return {
        "r2": models.r2,
        "r2_nuisance": models.r2_nuisance,
        R2_BEYOND: models.r2_beyond,
        "literals": np.where(np.isnan(models.r2), np.nan, models.count),
    }


def control_rows(layer: int, basis: str, model: str, measures: Mapping[str, Floats]) -> pa.Table:
    """Return a row for each measure: the number of units with a value, and the mean and quantiles of the values.

    Without units there are no rows.

    Args:
        layer: counted from 1.
        basis: one of `BASES`.
        model: one of `MODELS`.
        measures: for each measure's name, a value for each unit of the layer; NaN if unknown.
    """
    rows: list[dict[str, object]] = []
    for measure, numbers in measures.items():
        known = np.asarray(numbers, np.float64)
        known = known[np.isfinite(known)]
        if known.size:
            row = {"layer": layer, "basis": basis, "model": model, "measure": measure, "n": known.size}
            quantiles = zip(QUANTILES, np.percentile(known, QUANTILES).tolist(), strict=True)
            rows.append({**row, "mean": float(known.mean()), **{f"q{q:02}": end for q, end in quantiles}})
    return schema.table("explain/controls", rows)
