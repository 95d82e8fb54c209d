"""Silent units: a weight close to zero silences them, so that their variation is only rounding.

Every measure over units excludes them, by `read_silent` for arrays of neurons and by `read_heard` for rows of tables.
"""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float64s, Floats, Integers
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import Neurons

# A unit is silent if its standard deviation is at most this share of its layer's largest absolute activation.
SILENT = 1e-6
COLUMNS = ["layer", "unit", "is_silent"]

SAID = (
    "silent: its standard deviation is below a millionth of the largest activation in its layer, "
    "so its variation is only rounding; lists, groups and averages exclude it"
)


def largest_by_layer(layer: Integers, low: Floats, high: Floats, neurons: Neurons) -> Float64s:
    """Return the largest absolute activation of each layer from the first one on, `[layers]`.

    It is 0 for a layer in which nothing was scored.

    Args:
        layer: the layer of each neuron, `[neurons]`.
        low, high: the lowest and highest activation of each neuron, `[neurons]`.
        neurons: all neurons of the run.
    """
    largest = np.zeros(len(neurons.widths))
    extreme = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    np.maximum.at(largest, np.asarray(layer, np.int64) - neurons.first, np.where(np.isfinite(extreme), extreme, 0.0))
    return largest


def is_silent(layer: Integers, std: Float64s, largest: Float64s, first: int = 1) -> Bools:
    """Return which neurons are silent, `[neurons]` bool.

    Args:
        layer: the layer of each neuron, `[neurons]`.
        std: the standard deviation of each neuron's activations, `[neurons]`.
        largest: the largest absolute activation of each layer from layer `first` on, `[layers]`.
        first: the layer of the first entry of `largest`.

    >>> is_silent(np.array([1, 1, 2]), np.array([0.1, 1e-9, 1e-9]), np.array([3.0, 1e-4])).tolist()
    [False, True, False]
    """
    return np.asarray(std <= SILENT * largest[np.asarray(layer, np.int64) - first])


def silent_neurons(neurons: pa.Table) -> set[tuple[int, int]]:
    """Return the layer and unit of every silent neuron, from the `COLUMNS` of neurons/."""
    silent = neurons.filter(neurons["is_silent"])
    return set(zip(silent["layer"].to_pylist(), silent["unit"].to_pylist(), strict=True))


def heard(rows: pa.Table, silent: Collection[tuple[int, int]]) -> pa.Table:
    """Return the rows of a table of units without those of these silent units, given as `silent_neurons` does."""
    if not silent or not rows.num_rows:
        return rows
    layer, unit = (rows[name].to_numpy().astype(np.int64) for name in ("layer", "unit"))
    return rows.filter(pa.array(~np.isin(layer << 32 | unit, [a << 32 | b for a, b in silent])))


def read_heard(
    store: Store, table: str, where: pc.Expression | None = None, columns: list[str] | None = None
) -> pa.Table:
    """Return what `read_table` returns, without the rows of silent units; `columns` include `layer` and `unit`."""
    silent = silent_neurons(read_table(store, "neurons", columns=COLUMNS))
    return heard(read_table(store, table, where, columns), silent)


def read_silent(store: Store, neurons: Neurons) -> Bools:
    """Return which neurons of a run are silent, `[neurons]` bool, from neurons/."""
    silent = np.zeros(len(neurons), np.bool_)
    for layer, unit in silent_neurons(read_table(store, "neurons", columns=COLUMNS)):
        silent[neurons.number(np.array(layer), np.array(unit))] = True
    return silent
