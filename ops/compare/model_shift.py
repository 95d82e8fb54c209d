"""The distance between two models' vectors of the same sentences (Oba 2021, Table 3)."""

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float64s, Floats, Int64s
from ops.statistics.by_document import means_by_document
from ops.statistics.interval import Interval


def layer_distances(a: list[Floats], b: list[Floats]) -> tuple[Float64s, Float64s]:
    """Return each sentence's Manhattan and squared Euclidean distance by layer, each `[sentences, layers]` float64.

    Args:
        a, b: each layer's activations in the two models, `[sentences, units]`.
    """
    differences = [np.asarray(x, np.float64) - np.asarray(y, np.float64) for x, y in zip(a, b, strict=True)]
    manhattan = np.stack([np.abs(d).sum(1) for d in differences], 1)
    return manhattan, np.stack([(d**2).sum(1) for d in differences], 1)


def with_whole(manhattan: Float64s, squares: Float64s) -> Float64s:
    """Return both distances between the vectors of all neurons, then of each layer, `[sentences, 2, 1 + layers]`."""
    sums = [np.concatenate([d.sum(1, keepdims=True), d], 1) for d in (manhattan, squares)]
    return np.stack([sums[0], np.sqrt(sums[1])], 1)


def shift_rows(text_set: str, distances: Float64s, documents: Int64s) -> list[dict[str, object]]:
    """Return a text set's rows of `compare/shift_layers`, starting with all layers together (layer 0).

    The intervals are those of `means_by_document`, cut at 0.

    Args:
        text_set: the name of the text set.
        distances: the result of `with_whole`.
        documents: the document of each sentence, `[sentences]`.
    """
    of_means = means_by_document(distances.reshape(len(distances), -1), documents)
    ends = np.maximum(of_means, 0).T.reshape(*distances.shape[1:], 3)
    rows: list[dict[str, object]] = []
    for layer in range(distances.shape[2]):
        manhattan, euclidean = (Interval(*ends[i, layer]) for i in (0, 1))
        row: dict[str, object] = {"text_set": text_set, "layer": layer, "n": len(distances)}
        rows.append(row | manhattan.columns("manhattan") | euclidean.columns("euclidean"))
    return rows


def shift_tables(rows: list[dict[str, object]]) -> dict[str, pa.Table]:
    """Return `compare/shift` and `compare/shift_layers` from the rows of all text sets."""
    return {
        "compare/shift": schema.table("compare/shift", [row for row in rows if not row["layer"]]),
        "compare/shift_layers": schema.table("compare/shift_layers", rows),
    }


def rank_correlations(a: Floats, b: Floats) -> Float64s:
    """Return Spearman's correlation of each neuron's values in two models, `[neurons]`; NaN if one is constant.

    Args:
        a, b: the two models' activations of the same sentences, `[sentences, neurons]`.
    """
    from scipy.stats import rankdata

    x, y = (rankdata(values, axis=0) for values in (a, b))
    x, y = x - x.mean(0), y - y.mean(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip((x * y).sum(0) / np.sqrt((x**2).sum(0) * (y**2).sum(0)), -1.0, 1.0))


def jaccards(a: tuple[Int64s, Int64s], b: tuple[Int64s, Int64s], neurons: int) -> Float64s:
    """Return each neuron's Jaccard index: winners of both models divided by winners of either, `[neurons]`.

    It is NaN for a neuron without winners.

    Args:
        a, b: the winners in each model: numbers of neurons, and numbers that identify winners, distinct for a neuron,
            `[winners]`.
        neurons: number of neurons.
    """
    beyond = max(int(a[1].max(initial=0)), int(b[1].max(initial=0))) + 1
    own, other = (owner * beyond + winner for owner, winner in (a, b))
    common = np.bincount(np.intersect1d(own, other, assume_unique=True) // beyond, minlength=neurons)
    either = sum(np.bincount(owner, minlength=neurons) for owner, _ in (a, b)) - common
    return np.asarray(np.where(either > 0, common / np.maximum(either, 1), np.nan))
