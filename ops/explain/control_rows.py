"""The rows of `explain/controls`: how well neurons are explained, compared with random axes and shuffled sentences."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import Floats
from ops.explain.activation_model import ActivationModels

BASES = ("neurons", "rotated", "shuffled")
MODELS = ("activation", "winners")
R2_BEYOND = "r2_beyond"
QUANTILES = (5, 25, 50, 75, 95)  # in %
VALUES = pa.schema(
    [("layer", pa.int16()), ("basis", pa.string()), ("model", pa.string()), ("measure", pa.string()),
     ("value", pa.float64())]
)  # fmt: skip


def value_rows(layer: int, basis: str, model: str, measures: Mapping[str, Floats]) -> list[pa.Table]:
    """Return a row for each axis and measure, by the schema `VALUES`; the axes of several ranges are joined later."""
    tables = []
    for measure, values in measures.items():
        key = [pa.repeat(name, len(values)) for name in (layer, basis, model, measure)]
        tables.append(pa.table([*key, pa.array(np.asarray(values, np.float64))], names=VALUES.names).cast(VALUES))
    return tables


def all_controls(values: pa.Table) -> pa.Table:
    """Return the rows of `explain/controls`, computed from the measures of all neurons and axes."""
    tables = []
    for layer in sorted(values["layer"].unique().to_pylist()):
        own = values.filter(pc.equal(values["layer"], layer))
        for basis in BASES:
            for model in MODELS:
                some = own.filter(pc.and_(pc.equal(own["basis"], basis), pc.equal(own["model"], model)))
                measures = {
                    name: some.filter(pc.equal(some["measure"], name))["value"].to_numpy()
                    for name in some["measure"].unique().to_pylist()
                }
                tables.append(control_rows(layer, basis, model, measures))
    return schema.concatenate("explain/controls", tables)


def activation_measures(models: ActivationModels) -> dict[str, Floats]:
    """Return those measures of activation models that are summarised, by name, with one value for each unit."""
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
