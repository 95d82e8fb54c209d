"""How similar units with the same index are in different layers, compared with permuted units (Oba 2021, Figure 2)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float64s
from ops.shards import spans
from ops.statistics.empirical_p import empirical_p
from ops.statistics.false_discovery import q_values

Pairs = list[tuple[int, int]]

_AT_ONCE = 16  # number of permutations processed at once


def comparable_layers(
    properties: Mapping[str, Sequence[Float64s]], widths: Sequence[int]
) -> Iterator[tuple[str, list[int], Float64s, Pairs]]:
    """Yield, for every property, layers of one width whose values are known for the same units, and their pairs.

    A pair of layers is compared over the units with a value in both layers, and is yielded once.

    Args:
        properties: for each property's name, the values of the units of each layer.
        widths: number of units of each layer.

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
    """Return the correlations of every two layers with the later one's units permuted.

    Args:
        values: the values, `[layers, units]`.
        permutations: number of permutations, which are the same for all pairs.
        rng: the random generator that draws the permutations.

    Returns:
        The correlations, `[permutations, layers, layers]`. For a pair (a, b), the units of b are permuted.
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
        widths: number of units of each layer.
        permutations: number of permutations for the null distribution.
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
