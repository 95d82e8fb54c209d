"""How similar units with the same index are in different layers (Oba 2021, Figure 2), and two controls.

The null distribution permutes units. The other control rotates: the layers of a residual stream share a basis and most
of their content, so any direction, and not only a unit, resembles itself in the next layer. If all layers are rotated
in the same way, no axis is a neuron. If these axes agree across layers as much as neurons do, the agreement comes from
the stream and not from the neurons.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import sampling, schema
from ops.arrays import Bools, Float64s, Floats
from ops.compare.activation_vectors import layer_activations, sampled_sentences
from ops.penn import tag_class
from ops.sampling import random_rotations
from ops.shards import Ids, spans
from ops.statistics.empirical_p import empirical_p
from ops.statistics.false_discovery import q_values
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import POLES, Neurons
from ops.topk.silent import read_silent

WINNERS_SHARE, LEAST_WINNERS = 0.05, 10  # share of the sample's sentences, and minimum number, for a unit and pole

_AGREEMENT = pa.schema(
    [("property", pa.string()), ("layer_a", pa.int16()), ("layer_b", pa.int16()), ("correlation", pa.float64())]
)
Pairs = list[tuple[int, int]]

_AT_ONCE = 16  # number of permutations processed at once


def comparable_layers(
    properties: Mapping[str, Sequence[Float64s]], widths: Sequence[int]
) -> Iterator[tuple[str, list[int], Float64s, Pairs]]:
    """Yield, for every property, layers of one width whose values are known for the same units, and their pairs.

    A pair of layers is compared over the units with a value in both layers, and is yielded once.

    Yields:
        The property, the numbers of the layers, ascending, the values of these units, `[layers, units]`, and the pairs
        as indices into these layers.
    """
    for name in sorted(properties):
        for width in sorted(set(widths)):
            numbers = np.flatnonzero(np.array(widths) == width)
            values = np.stack([properties[name][number] for number in numbers.tolist()])
            known, pairs_of = np.isfinite(values), dict[bytes, Pairs]()
            for a, b in combinations(range(len(values)), 2):
                pairs_of.setdefault((known[a] & known[b]).tobytes(), []).append((a, b))
            for mask, pairs in pairs_of.items():
                layers, units = np.unique(pairs), np.flatnonzero(np.frombuffer(mask, np.bool_))
                if len(units) > 1:
                    both = np.searchsorted(layers, pairs).tolist()
                    yield name, (numbers[layers] + 1).tolist(), values[np.ix_(layers, units)], both


def standard_scores(values: Float64s) -> Float64s:
    """Scale values `[layers, units]` to mean 0 and length 1 in each layer; NaN in a layer with only equal values.

    A unit without a value (NaN) has no score.
    """
    known = np.isfinite(values)
    some = np.where(known, values, 0.0)
    centred = np.where(known, values - some.sum(1, keepdims=True) / np.maximum(known.sum(1, keepdims=True), 1), 0.0)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    alike = ~known | (length <= 1e-12 * np.abs(some).max(initial=0.0) * np.sqrt(values.shape[1]))
    return np.asarray(np.where(alike, np.nan, centred / np.where(alike, 1.0, length)))


def correlations(values: Float64s) -> Float64s:
    """Return the Pearson correlation of every two layers, `[layers, layers]`, of values `[layers, units]`."""
    scores = standard_scores(values)
    return np.asarray(np.clip(scores @ scores.T, -1.0, 1.0))


def permuted_correlations(values: Float64s, permutations: int, rng: np.random.Generator) -> Float64s:
    """Return the correlations of every two layers of values `[layers, units]` with the later one's units permuted.

    The result is `[permutations, layers, layers]`. For a pair (a, b), the units of b are permuted, for all pairs in the
    same ways.
    """
    scores = standard_scores(values)
    layers, units = scores.shape
    null = np.empty((permutations, layers, layers))
    for start, stop in spans(permutations, _AT_ONCE):
        order = rng.permuted(np.tile(np.arange(units), (stop - start, 1)), axis=1)
        null[start:stop] = np.clip(scores @ scores[:, order].transpose(1, 2, 0), -1.0, 1.0)
    return null


def dimension_rows(
    properties: Mapping[str, Float64s], widths: tuple[int, ...], permutations: int, seed: tuple[int, ...]
) -> pa.Table:
    """Return the rows of `compare/dimensions`.

    Args:
        properties: for each property's name, a value for each neuron, `[neurons]`, layer by layer; NaN for a neuron
            without a value.
        seed: the seed of the permutations, which are the same for every property.

    Returns:
        A row for every property and every pair of layers of equal width in which the property varies, over the units
        with a value in both layers.
    """
    of_layers = {name: np.split(values, np.cumsum(widths)[:-1]) for name, values in properties.items()}
    rows: list[dict[str, Any]] = []
    for name, layers, values, pairs in comparable_layers(of_layers, widths):
        r, null = correlations(values), permuted_correlations(values, permutations, np.random.default_rng(seed))
        low, high = np.quantile(null, (0.025, 0.975), axis=0)  # NaN if a property does not vary in a layer
        for a, b in pairs:
            if not np.isnan(r[a, b]):
                row = {"property": name, "layer_a": layers[a], "layer_b": layers[b], "correlation": r[a, b]}
                row |= {"null_low": low[a, b], "null_high": high[a, b]}
                rows.append(row | {"p_value": empirical_p(abs(r[a, b]) - 1e-12, np.abs(null[:, a, b])).item()})
    return schema.table("compare/dimensions", _with_q_values(rows))


def rotated_rows(unrotated: pa.Table, rotated: list[pa.Table]) -> pa.Table:
    """Return the rows of `compare/rotated`, given the result of `basis_agreement` in the model's and rotated bases."""
    nulls: dict[tuple[Any, ...], list[float]] = {}
    for *key, correlation in zip(*pa.concat_tables(rotated).to_pydict().values(), strict=True):
        nulls.setdefault(tuple(key), []).append(correlation)
    rows = []
    for row in unrotated.to_pylist():
        null = np.array(nulls.get(tuple(row.values())[:-1], []))
        if not len(null):
            continue
        p_value = empirical_p(row["correlation"], null).item()
        measured = {"rotated_mean": null.mean(), "rotated_low": null.min(), "rotated_high": null.max()}
        rows.append({**row, **measured, "rotations": len(null), "p_value": p_value})
    return schema.table("compare/rotated", _with_q_values(rows))


def _with_q_values(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    q = q_values([row["p_value"] for row in rows]).tolist()
    return [{**row, "q_value": own} for row, own in zip(rows, q, strict=True)]


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

    These are `neurons:mean`, `std`, `skew` and `kurtosis` of the activations, and each feature's mean over the
    sentences with the highest and with the lowest activations (5 % of the sample, at least 10), under its name and
    pole. Sentences that tie for the last places share these places.

    Args:
        values: the activations, `[sentences, units]`.
        names, features: the features' names, and their values for the sentences, `[sentences, features]`.
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

    The columns are `property`, `layer_a`, `layer_b` and `correlation`. A pair has no row if all units of a layer have
    the same value of the property.

    Args:
        layers: the activations of each layer in the basis, `[sentences, units]`.
        silent: which units of each layer are left out, `[units]`; empty if none is.
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
        rows += [
            {"property": name, "layer_a": numbers[i], "layer_b": numbers[j], "correlation": r[i, j]}
            for i, j in pairs
            if not np.isnan(r[i, j])
        ]
    return schema.table(_AGREEMENT, rows)


class Bases:
    """The activation sample of a run in the model's own basis and in rotated ones."""

    def __init__(self, store: Store, neurons: Neurons, seed: int) -> None:
        self.widths, self.seed = neurons.widths, seed
        self.layers: list[Floats] = [layer_activations(store, i + 1) for i in range(len(neurons.widths))]
        self.silent = np.split(read_silent(store, neurons), np.cumsum(neurons.widths)[:-1])
        self.names, self.features = sentence_features(store, sampled_sentences(store))

    def agreement(self, number: int) -> pa.Table:
        """Return the `basis_agreement` in the basis with this number; 0 is the model's own basis."""
        if not number:
            return basis_agreement(self.layers, self.names, self.features, self.silent)
        turns = random_rotations(self.widths, np.random.default_rng([self.seed, sampling.ROTATIONS, number]))
        # No axis of a rotated basis is silent.
        return basis_agreement([layer @ turns[layer.shape[1]] for layer in self.layers], self.names, self.features)
