"""Properties of units on the activation sample, in the model's basis and in rotated ones: the control for Figure 2.

The layers of a residual stream share a basis and most of their content. So any direction, and not only a unit,
resembles itself in the next layer. If all layers are rotated in the same way, no axis is a neuron. If these axes agree
across layers as much as neurons do, the agreement comes from the stream and not from the neurons.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import sampling, schema
from ops.arrays import Bools, Float64s, Floats
from ops.compare.activation_vectors import layer_activations, sampled_sentences
from ops.compare.layer_agreement import comparable_layers, correlations
from ops.penn import tag_class
from ops.sampling import random_rotations
from ops.shards import Ids
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import POLES, Neurons
from ops.topk.silent import read_silent

WINNERS_SHARE, LEAST_WINNERS = 0.05, 10  # share of the sample's sentences, and minimum number, for a unit and pole

_AGREEMENT = pa.schema(
    [("property", pa.string()), ("layer_a", pa.int16()), ("layer_b", pa.int16()), ("correlation", pa.float64())]
)


def sentence_features(store: Store, sent_ids: Ids) -> tuple[list[str], Float64s]:
    """Return the features' names, and their values for some sentences, `[sentences, features]` float64.

    Names are formed from those of `means/` and `profiles/`, such as `means:words_per_sentence` and
    `profiles:dataset=news`.
    """
    columns: dict[str, Float64s] = {"means:words_per_sentence": np.zeros(len(sent_ids))}
    sampled = pc.field("sent_id").isin(pa.array(sent_ids))
    table = read_table(store, "sentences", sampled, ["sent_id", "dataset", "words", "tags"])
    rows = np.searchsorted(sent_ids, table["sent_id"].to_numpy())
    columns["means:words_per_sentence"][rows] = [len(words or ()) for words in table["words"].to_pylist()]
    for row, tags, dataset in zip(rows, table["tags"].to_pylist(), table["dataset"].to_pylist(), strict=True):
        columns.setdefault(f"profiles:dataset={dataset}", np.zeros(len(sent_ids)))[row] = 1.0
        for kind in map(tag_class, tags or ()):
            if kind in ("verb", "noun"):
                columns.setdefault(f"means:{kind}s_per_sentence", np.zeros(len(sent_ids)))[row] += 1.0
    return list(columns), np.stack(list(columns.values()), 1)


def unit_properties(values: Floats, names: list[str], features: Float64s) -> dict[str, Float64s]:
    """Return the properties of units by name, each with a value for each unit, `[units]` float64.

    Args:
        values: the activations, `[sentences, units]`.
        names, features: the features' names, and their values for the sentences, `[sentences, features]`.

    Returns:
        `neurons:mean`, `std`, `skew` and `kurtosis` of the activations. Also each feature's mean over the sentences
        with the highest and with the lowest activations (5 % of the sample, at least 10), under its name and pole.
        Sentences that tie for the last places share these places.
    """
    wide = np.ascontiguousarray(np.asarray(values).T, np.float64)
    mean, std = wide.mean(1), wide.std(1)
    scores = (wide - mean[:, None]) / np.where(std > 0, std, 1.0)[:, None]
    squares = scores * scores
    sentences = wide.shape[1]
    third, fourth = (np.einsum("us,us->u", squares, other) / sentences for other in (scores, squares))
    properties = {"neurons:mean": mean, "neurons:std": std, "neurons:skew": third, "neurons:kurtosis": fourth - 3}
    most = min(max(round(WINNERS_SHARE * sentences), LEAST_WINNERS), sentences)
    # The last winner's activation at each pole; sorting all sentences would take most of the time.
    ends = np.partition(wide, (most - 1, sentences - most), axis=1)
    for pole in POLES:
        last = ends[:, most - 1 if pole == "bottom" else sentences - most, None]
        beyond, at = wide < last if pole == "bottom" else wide > last, wide == last
        places = (most - beyond.sum(1)) / at.sum(1)
        means = (beyond + places[:, None] * at) @ features / most
        properties |= {f"{name}:{pole}": means[:, i] for i, name in enumerate(names)}
    return properties


def basis_agreement(
    layers: list[Floats], names: list[str], features: Float64s, silent: Sequence[Bools] = ()
) -> pa.Table:
    """Return how similar units with the same index are in every pair of layers of equal width, in one basis.

    Args:
        layers: the activations of each layer in the basis, `[sentences, units]`.
        names, features: the features' names, and their values for the sentences.
        silent: which units of each layer are left out, `[units]`; empty if none is.

    Returns:
        `property`, `layer_a`, `layer_b`, `correlation`. There is no row for a property and layer if all units of the
        layer have the same value of the property.
    """
    widths = tuple(layer.shape[1] for layer in layers)
    properties = [unit_properties(layer, names, features) for layer in layers]
    for of_layer, out in zip(properties, silent, strict=False):
        for values in of_layer.values():
            values[out] = np.nan
    by_name = {name: [of_layer[name] for of_layer in properties] for name in properties[0]}
    rows = []
    for name, numbers, values, pairs in comparable_layers(by_name, widths):
        r = correlations(values)
        for i, j in pairs:
            if not np.isnan(r[i, j]):
                row = {"property": name, "layer_a": numbers[i], "layer_b": numbers[j], "correlation": r[i, j]}
                rows.append(row)
    return schema.table(_AGREEMENT, rows)


class Bases:
    """The activation sample of a run in the model's own basis and in rotated ones.

    Args:
        store: the run's folder.
        neurons: the run's neurons.
        seed: the seed of the rotations.
    """

    def __init__(self, store: Store, neurons: Neurons, seed: int) -> None:
        self.widths, self.seed = neurons.widths, seed
        self.layers = [layer_activations(store, layer) for layer in range(1, len(neurons.widths) + 1)]
        self.silent = np.split(read_silent(store, neurons), np.cumsum(neurons.widths)[:-1])
        self.names, self.features = sentence_features(store, sampled_sentences(store))

    def agreement(self, number: int) -> pa.Table:
        """Return the `basis_agreement` in the basis with this number; 0 is the model's own basis."""
        layers: list[Floats] = list(self.layers)
        if number:
            rng = np.random.default_rng([self.seed, sampling.ROTATIONS, number])
            turns = random_rotations(self.widths, rng)
            layers = [layer @ turns[layer.shape[1]] for layer in layers]
        # No axis of a rotated basis is silent.
        return basis_agreement(layers, self.names, self.features, () if number else self.silent)
