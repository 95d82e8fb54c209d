"""The rows of the psi tables, with one Arrow table for each row group."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Floats, Int32s
from ops.psi.clusters import agreements, centroids, cluster_psi, examples, superclusters
from ops.psi.psi import VALUES
from ops.psi.token_types import cluster_types, token_type, vocabulary_mark
from ops.reducers.grouped_moments import GroupedMoments

EXAMPLES = 10


def vocabulary_tables(
    tokens: Sequence[str | None], special: Sequence[str], vectors: Floats, labellings: list[Int32s], seed: int
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return `psi/vocabulary` for the first clustering, `psi/agreement` for all clusterings, and their counts.

    Args:
        tokens: the vocabulary in the order of its ids; None for a row that the tokenizer never uses.
        vectors: the word embeddings, `[tokens, width]`.
        labellings: the cluster of each token in each execution of k-means.
    """
    labels, mark = labellings[0], vocabulary_mark(tokens)
    centres, agreed = centroids(vectors, labels), agreements(labellings)
    of_centres = superclusters(centres, seed)
    types = [token_type(token, mark, special) for token in tokens]
    of_cluster = cluster_types(types, labels)
    columns = {
        "token_id": np.arange(len(tokens)), "token": tokens, "type": types, "cluster": labels,
        "cluster_type": [of_cluster[c] for c in labels], "norm": np.linalg.norm(vectors.astype(np.float64), axis=1),
        "distance": np.linalg.norm(vectors - centres[labels], axis=1), "supercluster": of_centres[labels],
    }  # fmt: skip
    tables = {
        "psi/vocabulary": schema.table("psi/vocabulary", columns),
        "psi/agreement": schema.table("psi/agreement", agreed),
    }
    return tables, {
        "tokens": len(vectors),
        "clusters": len(centres),
        "superclusters": int(of_centres.max()) + 1,
        "rand_index": round(float(np.mean([row["rand_index"] for row in agreed])), 4) if agreed else None,
    }


def token_rows(layer: int, values: Floats) -> Iterator[pa.Table]:
    """Yield the rows of `psi/tokens` for one layer (from 1), head by head; `values` is `[tokens, 4, heads]` float32."""
    for head in range(values.shape[2]):
        columns = _layer_and_head(layer, head, len(values)) | {"token_id": np.arange(len(values))}
        yield schema.table("psi/tokens", columns | dict(zip(VALUES, values[:, :, head].T, strict=True)))


def cluster_rows(layer: int, values: Floats, random: Floats, vocabulary: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of `psi/clusters` for one layer, head by head and sorted by rank.

    Args:
        layer, vocabulary: the layer, from 1, and the rows of `psi/vocabulary`.
        values, random: the psi of each token, `[tokens, 4, heads]`, and of a random direction, `[4, heads]`.
    """
    labels, distance = vocabulary["cluster"].to_numpy(), vocabulary["distance"].to_numpy()
    names = vocabulary["token"].to_pylist()
    first = np.unique(labels, return_index=True)[1]
    shown = [[names[i] for i in rows if names[i] is not None] for rows in examples(labels, distance, EXAMPLES)]
    same = {"cluster": np.arange(len(first)), "type": vocabulary["cluster_type"].take(first), "tokens": shown}
    for head in range(values.shape[2]):
        clusters = cluster_psi(values[:, :, head].astype(np.float64), labels, random[:, head].astype(np.float64))
        columns = _layer_and_head(layer, head, len(first)) | same | {"n": clusters.n, "rank": clusters.rank}
        for name, matrix in (("psi", clusters.mean), ("z", clusters.z), ("relative", clusters.relative)):
            columns |= {value.replace("psi", name): column for value, column in zip(VALUES, matrix.T, strict=True)}
        yield schema.table("psi/clusters", columns)


def contextual_rows(moments: GroupedMoments, layers: int, heads: int) -> Iterator[pa.Table]:
    """Yield the rows of `psi/contextual`, head by head; the moments' columns are `[layers, 4, heads]`, flattened."""
    mean, std = (values.reshape(-1, layers, len(VALUES), heads) for values in (moments.mean, moments.std))
    for layer, head in product(range(layers), range(heads)):
        columns = _layer_and_head(layer + 1, head, len(moments.ids)) | {"token_id": moments.ids, "n": moments.count}
        for i, name in enumerate(VALUES):
            columns |= {f"{name}_mean": mean[:, layer, i, head], f"{name}_std": std[:, layer, i, head]}
        yield schema.table("psi/contextual", columns)


def _layer_and_head(layer: int, head: int, rows: int) -> dict[str, Any]:
    return {"layer": np.full(rows, layer), "head": np.full(rows, head)}
