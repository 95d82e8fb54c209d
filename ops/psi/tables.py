"""The rows of the psi tables, with one Arrow table for each row group."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Floats, Int16s, Int32s
from ops.psi.clusters import cluster_psi
from ops.psi.psi import VALUES
from ops.psi.token_types import cluster_types, token_type, vocabulary_mark
from ops.psi.vocabulary_clusters import agreements, centroids, distances, examples, superclusters
from ops.reducers.grouped_moments import GroupedMoments

EXAMPLES = 10


def vocabulary_rows(
    tokens: Sequence[str | None], special: Sequence[str], vectors: Floats, labels: Int32s, superclusters: Int32s
) -> pa.Table:
    """Return the rows of `psi/vocabulary`.

    Args:
        tokens: the vocabulary in the order of its ids; None for a row that the tokenizer never uses.
        special: the tokenizer's special tokens.
        vectors: the word embeddings, `[tokens, width]`.
        labels: the cluster of each token, `[tokens]`.
        superclusters: the supercluster of each cluster's centroid, `[clusters]`.
    """
    mark = vocabulary_mark(tokens)
    types = [token_type(token, mark, special) for token in tokens]
    of_cluster = cluster_types(types, labels)
    return pa.table(
        {
            "token_id": np.arange(len(tokens), dtype=np.int32),
            "token": pa.array(tokens, pa.string()),
            "type": types,
            "cluster": labels,
            "cluster_type": [of_cluster[c] for c in labels],
            "norm": np.linalg.norm(vectors.astype(np.float64), axis=1).astype(np.float32),
            "distance": distances(vectors, labels, centroids(vectors, labels)).astype(np.float32),
            "supercluster": superclusters[labels],
        }
    )


def vocabulary_tables(
    tokens: Sequence[str | None], special: Sequence[str], vectors: Floats, labellings: list[Int32s], seed: int
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return `psi/vocabulary` for the first clustering, `psi/agreement` for all clusterings, and their counts.

    Args:
        tokens, special, vectors: as `vocabulary_rows` takes them.
        labellings: the cluster of each token in each execution of k-means.
        seed: the seed of the superclusters.
    """
    centres, agreed = centroids(vectors, labellings[0]), agreements(labellings)
    of_centres = superclusters(centres, seed)
    tables = {
        "psi/vocabulary": vocabulary_rows(tokens, special, vectors, labellings[0], of_centres),
        "psi/agreement": agreement_rows(agreed),
    }
    return tables, {
        "tokens": len(vectors),
        "clusters": len(centres),
        "superclusters": int(of_centres.max()) + 1,
        "rand_index": round(float(np.mean([found[2] for found in agreed])), 4) if agreed else None,
    }


def agreement_rows(found: list[tuple[int, int, float]]) -> pa.Table:
    """Return the rows of `psi/agreement`; `found` is the result of `agreements`."""
    names = ("run_a", "run_b", "rand_index")
    return schema.table("psi/agreement", [dict(zip(names, pair, strict=True)) for pair in found])


def token_rows(layer: int, values: Floats) -> Iterator[pa.Table]:
    """Yield the rows of `psi/tokens` for one layer (from 1), head by head; `values` is `[tokens, 4, heads]` float32."""
    for head in range(values.shape[2]):
        columns = {n: pa.array(values[:, i, head], from_pandas=True) for i, n in enumerate(VALUES)}
        yield pa.table(
            {**_place(layer, head, len(values)), "token_id": np.arange(len(values), dtype=np.int32), **columns}
        )


def cluster_rows(layer: int, values: Floats, random: Floats, vocabulary: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of `psi/clusters` for one layer, head by head and sorted by rank.

    Args:
        layer: the layer, from 1.
        values: the psi of each token, `[tokens, 4, heads]`.
        random: psi of a random direction, `[4, heads]`.
        vocabulary: the rows of `psi/vocabulary`.
    """
    labels, distance = vocabulary["cluster"].to_numpy(), vocabulary["distance"].to_numpy()
    names = vocabulary["token"].to_pylist()
    first = np.unique(labels, return_index=True)[1]
    types = pa.array(vocabulary["cluster_type"].to_pylist()).take(pa.array(first))
    shown = [[names[i] for i in rows if names[i] is not None] for rows in examples(labels, distance, EXAMPLES)]
    texts = pa.array(shown, pa.list_(pa.string()))
    for head in range(values.shape[2]):
        found = cluster_psi(values[:, :, head].astype(np.float64), labels, random[:, head].astype(np.float64))
        order = np.argsort(found.rank)
        measured = {"psi": found.mean, "z": found.z, "relative": found.relative}
        yield pa.table(
            {
                **_place(layer, head, len(order)),
                "cluster": order.astype(np.int32),
                "type": types.take(pa.array(order)),
                "tokens": texts.take(pa.array(order)),
                "n": found.n[order],
                **{
                    n.replace("psi", name): pa.array(matrix[order, i].astype(np.float32), from_pandas=True)
                    for name, matrix in measured.items()
                    for i, n in enumerate(VALUES)
                },
                "rank": found.rank[order],
            }
        )


def contextual_rows(moments: GroupedMoments, layers: int, heads: int) -> Iterator[pa.Table]:
    """Yield the rows of `psi/contextual`, head by head; the moments' columns are `[layers, 4, heads]`, flattened."""
    shape = (len(moments.ids), layers, len(VALUES), heads)
    mean, std = (m.astype(np.float32).reshape(shape) for m in (moments.mean, moments.std))
    for layer in range(layers):
        for head in range(heads):
            columns = {}
            for i, name in enumerate(VALUES):
                columns[f"{name}_mean"] = np.ascontiguousarray(mean[:, layer, i, head])
                columns[f"{name}_std"] = np.ascontiguousarray(std[:, layer, i, head])
            place = _place(layer + 1, head, len(moments.ids))
            yield pa.table({**place, "token_id": moments.ids.astype(np.int32), "n": moments.count, **columns})


def _place(layer: int, head: int, rows: int) -> dict[str, Int16s]:
    return {"layer": np.full(rows, layer, np.int16), "head": np.full(rows, head, np.int16)}
