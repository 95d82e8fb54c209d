"""Reads `activations/`, which stores vectors or, for sparse features, the active units and their values."""

import numpy as np
import pyarrow as pa
from scipy.sparse import csc_array, csr_array

from ops.arrays import Float32s
from ops.schema import concatenate, layer_columns, layer_widths
from ops.storage.store import Store
from ops.storage.tables import part_name, read_parts
from ops.topk.neurons import Neurons, read_neurons


def sample_of_layer(table: pa.Table, layer: int, width: int) -> Float32s | csc_array:
    """Return a layer's activations from some rows of `activations/`, `[sentences, units]` float32.

    The matrix is sparse for sparse features. Blocks of its columns become arrays with `dense`.

    Args:
        table: some rows of `activations/`, with at least the columns `layer_columns`.
        layer: the layer's index.
        width: number of units of the layer.
    """
    columns = [table[name].combine_chunks() for name in layer_columns(layer, table.column_names)]
    flat = [np.asarray(column.flatten().to_numpy(zero_copy_only=False)) for column in columns]
    if len(columns) == 1:
        return flat[0].reshape(-1, width)
    units, values = flat
    offsets = np.append(0, np.cumsum(columns[0].value_lengths().to_numpy()))
    return csr_array((values, units, offsets), shape=(len(table), width)).tocsc()


def dense(activations: Float32s | csc_array) -> Float32s:
    """Return activations, which may be sparse, as an array."""
    return activations if isinstance(activations, np.ndarray) else activations.toarray("C")


def read_layer(store: Store, layer: int, neurons: Neurons | None = None) -> Float32s | csc_array:
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
