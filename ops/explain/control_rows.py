"""The rows of `explain/controls`: how well neurons are explained, compared with random axes and shuffled sentences."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import Floats
from ops.explain.activation_model import ActivationModels

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
    """Return the rows of `explain/controls`: the number, mean and quantiles of each measure's values that are known.

    Args:
        values: the values of all neurons and axes, by the schema `VALUES`; NaN if unknown.
    """
    known = values.filter(pc.is_finite(values["value"]))
    rows = []
    for row in known.group_by(VALUES.names[:-1], use_threads=False).aggregate([("value", "list")]).to_pylist():
        numbers = np.array(row["value_list"])
        quantiles = zip(QUANTILES, np.percentile(numbers, QUANTILES).tolist(), strict=True)
        row |= {"n": numbers.size, "mean": float(numbers.mean())} | {f"q{q:02}": end for q, end in quantiles}
        rows.append(row)
    return schema.table("explain/controls", rows)


def activation_measures(models: ActivationModels) -> dict[str, Floats]:
    """Return those measures of activation models that are summarised, by name, with one value for each unit."""
    return {
        "r2": models.r2,
        "r2_nuisance": models.r2_nuisance,
        R2_BEYOND: models.r2 - models.r2_nuisance,
        "literals": np.where(np.isnan(models.r2), np.nan, models.count),
    }
