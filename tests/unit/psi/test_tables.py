from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from ops.psi.clusters import centroids, superclusters
from ops.psi.tables import EXAMPLES, cluster_rows, contextual_rows, token_rows, vocabulary_tables
from ops.reducers.grouped_moments import GroupedMoments
from ops.schema import schema

TOKENS = ["[PAD]", "[CLS]", "may", "june", "##ing", "1990", "1991", ",", "##s", None]
LABELS = np.array([0, 0, 1, 1, 2, 3, 3, 0, 2, 4], np.int32)
HEADS = 2


@pytest.fixture
def vectors() -> np.ndarray:
    found = np.random.default_rng(0).normal(size=(len(TOKENS), 6)).astype(np.float32)
    found[0] = 0
    return found


@pytest.fixture
def vocabulary(vectors: np.ndarray) -> pa.Table:
    return vocabulary_tables(TOKENS, ["[PAD]", "[CLS]"], vectors, [LABELS], 0)[0]["psi/vocabulary"]


@pytest.fixture
def values() -> np.ndarray:
    found = np.random.default_rng(1).lognormal(size=(len(TOKENS), 4, HEADS)).astype(np.float32)
    found[0] = np.nan
    return found


def test_the_vocabulary(vectors: np.ndarray, vocabulary: pa.Table) -> None:
    assert vocabulary.schema.equals(schema("psi/vocabulary"))
    types = ["Special", "Tags", "Words", "Words", "Subwords", "Numbers", "Numbers", "Symbols", "Subwords", "Special"]
    assert vocabulary["token"].to_pylist() == TOKENS
    assert vocabulary["type"].to_pylist() == types
    # Cluster 0 has one token of each of three types, so the first in the order of the types wins.
    of_cluster = ["Symbols", "Words", "Subwords", "Numbers", "Special"]
    assert vocabulary["cluster_type"].to_pylist() == [of_cluster[c] for c in LABELS]
    assert vocabulary["supercluster"].to_pylist() == superclusters(centroids(vectors, LABELS), 0)[LABELS].tolist()
    np.testing.assert_allclose(vocabulary["norm"], np.linalg.norm(vectors, axis=1), rtol=1e-6)
    assert vocabulary["distance"].to_pylist()[9] == 0
    np.testing.assert_allclose(
        vocabulary["distance"][2].as_py(), np.linalg.norm(vectors[2] - vectors[3]) / 2, rtol=1e-6
    )


def test_the_first_clustering_is_that_of_the_vocabulary(vectors: np.ndarray) -> None:
    other = np.array([0, 1, 1, 1, 2, 3, 3, 0, 2, 4], np.int32)
    tables, counts = vocabulary_tables(TOKENS, ["[PAD]", "[CLS]"], vectors, [LABELS, other], 0)
    assert tables["psi/vocabulary"]["cluster"].to_pylist() == LABELS.tolist()
    (row,) = tables["psi/agreement"].to_pylist()
    assert counts == {"tokens": 10, "clusters": 5, "superclusters": 5, "rand_index": round(row["rand_index"], 4)}
    tables, counts = vocabulary_tables(TOKENS, [], vectors, [LABELS], 0)
    assert (tables["psi/agreement"].num_rows, counts["rand_index"]) == (0, None)


def test_tokens_head_by_head(values: np.ndarray) -> None:
    tables = list(token_rows(3, values))
    assert len(tables) == HEADS
    for head, table in enumerate(tables):
        table = table.cast(schema("psi/tokens"))
        assert set(table["layer"].to_pylist()) == {3}
        assert set(table["head"].to_pylist()) == {head}
        assert table["token_id"].to_pylist() == list(range(len(TOKENS)))
        assert table["psi_k"].to_pylist() == [None, *values[1:, 1, head].tolist()]


def test_clusters_by_rank(values: np.ndarray, vocabulary: pa.Table) -> None:
    tables = list(cluster_rows(1, values, np.full((4, HEADS), 2.0, np.float32), vocabulary))
    for head, table in enumerate(tables):
        rows = table.cast(schema("psi/clusters")).to_pylist()
        assert [r["rank"] for r in rows] == [1, 2, 3, 4, 5]
        assert all(a["psi_qkv"] >= b["psi_qkv"] for a, b in pairwise(rows))
        for row in rows:
            own = np.flatnonzero((row["cluster"] == LABELS) & np.isfinite(values[:, 0, 0]))
            assert row["n"] == len(own)
            for i, name in enumerate(("q", "k", "v", "qkv")):
                assert row[f"psi_{name}"] == pytest.approx(values[own, i, head].mean(), rel=1e-6)
                assert row[f"relative_{name}"] == pytest.approx(values[own, i, head].mean() / 2, rel=1e-6)
        named = {r["cluster"]: (r["type"], sorted(r["tokens"])) for r in rows}
        assert named[3] == ("Numbers", ["1990", "1991"])
        assert named[4] == ("Special", [])
        assert all(len(r["tokens"]) <= EXAMPLES for r in rows)


def test_the_contextual_columns_go_to_their_layer_and_head() -> None:
    layers = 3
    mean = np.arange(2 * layers * 4 * HEADS, dtype=np.float64).reshape(2, -1)
    moments = GroupedMoments(np.array([4, 7]), np.array([2, 5]), mean, 9.0 * np.array([[2], [5]]) * np.ones_like(mean))
    tables = [t.cast(schema("psi/contextual")) for t in contextual_rows(moments, layers, HEADS)]
    assert [(t["layer"][0].as_py(), t["head"][0].as_py()) for t in tables] == [
        (a, b) for a in (1, 2, 3) for b in (0, 1)
    ]
    wanted = mean.reshape(2, layers, 4, HEADS)
    for i, table in enumerate(tables):
        assert table["token_id"].to_pylist() == [4, 7]
        assert table["n"].to_pylist() == [2, 5]
        assert table["psi_v_mean"].to_pylist() == wanted[:, i // HEADS, 2, i % HEADS].tolist()
        assert table["psi_qkv_std"].to_pylist() == [3.0, 3.0]
