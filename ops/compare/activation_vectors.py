"""The activation sample as matrices, with a vector for each sentence or for each neuron."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import sampling
from ops.arrays import Float32s, Floats, Int64s
from ops.storage.store import Store
from ops.storage.tables import read_parts, read_table
from ops.topk.activation_sample import dense, read_layer
from ops.topk.neurons import Neurons

PROCESS_BYTES = 400_000_000  # memory of a process before it loads data


def sampled_sentences(store: Store) -> Int64s:
    """Return the sentence ids of `activations/`, ascending."""
    ids = [table["sent_id"].to_numpy() for table in read_parts(store, "activations", ["sent_id"])]
    return np.concatenate([np.zeros(0, np.int64), *ids])


def common_rows(store: Store, other: Store, ids: Int64s | None = None) -> tuple[Int64s, Int64s]:
    """Return which rows of the two activation samples contain the same sentences, in the same order.

    `ids` are those of the second run's sentences in the first run, -1 if it lacks them; None if they are the same.
    """
    sampled = sampled_sentences(other)
    known = np.arange(len(sampled)) if ids is None else np.flatnonzero(ids[sampled] >= 0)
    named = (sampled if ids is None else ids[sampled])[known]
    _, rows, others = np.intersect1d(sampled_sentences(store), named, assume_unique=True, return_indices=True)
    return rows, known[others]


def sampled_texts(store: Store, most: int, seed: int, draw: int) -> list[str]:
    """Return the texts of a uniform sample of the activation sample's sentences.

    The sample depends on `seed` and on `draw`, the number of the draw.
    """
    ids = sampled_sentences(store)
    chosen = pa.array(ids[sampling.draw(len(ids), most, seed, draw)])
    texts: list[str] = read_table(store, "sentences", pc.field("sent_id").isin(chosen), ["text"])["text"].to_pylist()
    return texts


def layer_activations(store: Store, layer: int) -> Float32s:
    """Return a layer's activations in the sample, `[sentences, units]` float32; the layer must have units."""
    return dense(read_layer(store, layer))


def unit_vectors(values: Floats) -> Float32s:
    """Return each neuron's values as a vector of mean 0 and length 1, so that a product is a Pearson correlation.

    Of activations `[sentences, neurons]` these are `[neurons, sentences]` float32. A constant neuron's vector is 0.
    """
    wide = np.ascontiguousarray(values.T, np.float64)
    wide -= wide.mean(1, keepdims=True)
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    # A vector that consists only of a constant's rounding errors is not a direction.
    varies = length > 1e-6 * np.abs(values).max(initial=0.0) * np.sqrt(wide.shape[1])
    np.divide(wide, length, out=wide, where=varies)
    wide[~varies[:, 0]] = 0.0
    return wide.astype(np.float32)


def unit_correlations(vectors: Float32s, others: Float32s) -> Float32s:
    """Return the correlation of each of some `unit_vectors` with each of others, `[vectors, others]` float32."""
    return np.asarray(np.clip(vectors @ others.T, -1.0, 1.0), np.float32)


def neuron_vectors(store: Store, neurons: Neurons) -> Float32s:
    """Return the `unit_vectors` of all neurons over the activation sample, `[neurons, sentences]`, layer by layer."""
    vectors = np.empty((len(neurons), len(sampled_sentences(store))), np.float32)
    for layer in neurons.layers:
        vectors[slice(*neurons.span(layer))] = unit_vectors(layer_activations(store, layer))
    return vectors
