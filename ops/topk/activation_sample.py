"""Reads `activations/`, which stores vectors or, for sparse features, the active units and their values."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops.arrays import Float32s, Int64s
from ops.schema import concatenate, layer_columns, layer_widths
from ops.storage.store import Store
from ops.storage.tables import part_name, read_parts
from ops.topk.neurons import Neurons, read_neurons


@dataclass(frozen=True)
class LayerSample:
    """The activations of one layer for the sentences of the sample.

    Attributes:
        values: the activations, `[sentences, units]`. For sparse features these are the active values of one feature
            after another, with sentences ascending.
        offsets: where each feature starts in `values`, `[units + 1]`; None if `values` is a matrix.
        places: the index of the sentence of each value; None if `values` is a matrix.
        sentences: number of sentences.
    """

    values: Float32s
    sentences: int
    offsets: Int64s | None = None
    places: Int64s | None = None

    @property
    def width(self) -> int:
        """The number of units."""
        return self.values.shape[1] if self.offsets is None else len(self.offsets) - 1

    def of_unit(self, unit: int) -> Float32s:
        """Return a unit's activations, `[sentences]` float32."""
        return np.ascontiguousarray(self.of_units(unit, unit + 1)[:, 0])

    def of_units(self, first: int, stop: int) -> Float32s:
        """Return the activations of the units from `first` to `stop` - 1, `[sentences, stop - first]` float32."""
        if self.offsets is None or self.places is None:
            return self.values[:, first:stop]
        found = np.zeros((self.sentences, stop - first), np.float32)
        own = slice(int(self.offsets[first]), int(self.offsets[stop]))
        units = np.repeat(np.arange(stop - first), np.diff(self.offsets[first : stop + 1]))
        found[self.places[own], units] = self.values[own]
        return found

    def matrix(self) -> Float32s:
        """Return all activations, `[sentences, units]` float32; for sparse features the matrix is much larger."""
        return self.of_units(0, self.width)


def sample_of_layer(table: pa.Table, layer: int, width: int) -> LayerSample:
    """Return a layer's sample from the columns of `activations/` that contain this layer.

    Args:
        table: some rows of `activations/`, with at least the columns `layer_columns`.
        layer: the layer's index.
        width: number of units of the layer.
    """
    columns = [table[name].combine_chunks() for name in layer_columns(layer, table.column_names)]
    flat = [np.asarray(column.flatten().to_numpy(zero_copy_only=False)) for column in columns]
    if len(columns) == 1:
        return LayerSample(flat[0].reshape(-1, width), len(table))
    units, values = flat
    place = np.repeat(np.arange(len(table)), columns[0].value_lengths().to_numpy())
    order = np.argsort(units, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(units, minlength=width))]).astype(np.int64)
    return LayerSample(values[order], len(table), offsets, place[order])


def read_layer(store: Store, layer: int, neurons: Neurons | None = None) -> LayerSample:
    """Return a layer's activations in the sample of a run; `neurons` are all units of the run, read if not given."""
    width = (neurons or read_neurons(store)).width(layer)
    with store.parquet(part_name("activations", 0)) as file:
        names = layer_columns(layer, file.schema_arrow.names)
        layout = pa.schema([file.schema_arrow.field(name) for name in names])
    return sample_of_layer(concatenate(layout, read_parts(store, "activations", names)), layer, width)


def is_sparse(store: Store) -> bool:
    """Return whether `activations/` stores sparse features, which are 0 wherever they are inactive."""
    with store.parquet(part_name("activations", 0)) as file:
        names = file.schema_arrow.names
        layers = layer_widths(file.schema_arrow)
    return any(len(layer_columns(layer, names)) > 1 for layer in layers)
