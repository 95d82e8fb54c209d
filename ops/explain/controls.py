"""The controls of a run: for which units they are fitted, and the rows of `explain/controls`.

They say how well neurons are explained, compared with random axes and shuffled sentences.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import Floats, Int64s
from ops.explain.activation_model import ActivationModels
from ops.sampling import CONTROLLED, draw
from ops.topk.neurons import Neurons

R2_BEYOND = "r2_beyond"
CARDED = 128  # number of units of a layer for which controls of the score card are fitted
QUANTILES = (5, 25, 50, 75, 95)  # in %
VALUES = pa.schema(
    [("layer", pa.int16()), ("basis", pa.string()), ("model", pa.string()), ("measure", pa.string()),
     ("value", pa.float64())]
)  # fmt: skip


@dataclass(frozen=True)
class Controls:
    """The controls of a run.

    Attributes:
        are_fitted: whether any controls are fitted. If so, the controls of the range model are fitted for every unit.
        measured: numbers of the neurons whose measures are compared with those of the controls, ascending.
        carded: numbers of the neurons for which the controls of the score card are fitted too, ascending.
    """

    are_fitted: bool
    measured: Int64s
    carded: Int64s

    @classmethod
    def drawn(cls, are_fitted: bool, neurons: Neurons, measured: Int64s, size: int, seed: int) -> Self:
        """Draw `size` of each layer's measured units, or all of them if there are fewer.

        Args:
            are_fitted: whether controls are fitted.
            neurons: the run's neurons.
            measured: numbers of the explained neurons that are not silent, ascending.
            size: number of units to draw from each layer.
            seed: the seed of the draw.
        """
        carded = []
        for layer in neurons.layers:
            first, stop = neurons.span(layer)
            of_layer = measured[slice(*np.searchsorted(measured, [first, stop]))]
            carded.append(of_layer[draw(len(of_layer), size, seed, CONTROLLED, layer)])
        return cls(are_fitted, measured, np.concatenate([measured[:0], *carded]) if are_fitted else measured[:0])


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
