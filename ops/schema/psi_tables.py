"""The tables of the side job psi."""

from ops.schema.columns import FLOAT32, FLOAT64, INT16, INT32, INT64, LAYER, STRING, STRINGS, Column, TableSpec

_HEAD = (LAYER, Column("head", INT16, "attention head within the layer, counted from 0"))
_PSI = {"q": "the query", "k": "the key", "v": "the value", "qkv": "the product of these three"}
_MOMENT = {"mean": "mean", "std": "standard deviation (ddof 0)"}

TABLES: dict[str, TableSpec] = {
    "psi/vocabulary": TableSpec(
        "a token of the vocabulary",
        (
            Column("token_id", INT32, "token's number, which is its row in the word embeddings"),
            Column(
                "token",
                STRING,
                "token as written in the vocabulary; null for a row that the tokenizer never produces",
                True,
            ),
            Column("type", STRING, "`Words`, `Subwords`, `Numbers`, `Symbols`, `Special` or `Tags`, by its characters"),
            Column("cluster", INT32, "its k-means cluster of the word embeddings, counted from 0"),
            Column("cluster_type", STRING, "the type that most tokens of its cluster have"),
            Column("norm", FLOAT32, "Euclidean norm of its word embedding"),
            Column("distance", FLOAT32, "Euclidean distance from its cluster's centroid"),
            Column("supercluster", INT32, "cluster of its centroid when all centroids are clustered, counted from 0"),
        ),
        ("token_id",),
    ),
    "psi/tokens": TableSpec(
        "a token and a head, by the word embedding alone",
        (
            *_HEAD,
            Column("token_id", INT32, "token's number"),
            *(
                Column(f"psi_{p}", FLOAT32, f"norm stretch ratio of {_PSI[p]}; null for a zero vector", True)
                for p in _PSI
            ),
        ),
        ("layer", "head", "token_id"),
    ),
    "psi/clusters": TableSpec(
        "a cluster and a head, by the word embeddings alone",
        (
            *_HEAD,
            Column("cluster", INT32, "cluster of tokens"),
            Column("type", STRING, "the type that most of its tokens have"),
            Column("tokens", STRINGS, "tokens nearest to the centroid, the nearest first"),
            Column("n", INT64, "tokens over which the means are taken (those with a zero vector have no psi)"),
            *(Column(f"psi_{p}", FLOAT32, f"mean psi of {_PSI[p]} over its tokens", True) for p in _PSI),
            *(
                Column(
                    f"z_{p}", FLOAT32, f"standard deviations by which `psi_{p}` exceeds random groups of its size", True
                )
                for p in _PSI
            ),
            *(Column(f"relative_{p}", FLOAT32, f"`psi_{p}` divided by that of a random direction", True) for p in _PSI),
            Column("rank", INT32, "rank by psi_qkv within the head, counted from 1"),
        ),
        ("layer", "head", "rank"),
    ),
    "psi/agreement": TableSpec(
        "a pair of k-means runs over the vocabulary that differ in their seed",
        (
            Column("run_a", INT32, "one run, counted from 0; run 0 gave the clusters of the other tables"),
            Column("run_b", INT32, "the other run"),
            Column("rand_index", FLOAT64, "adjusted Rand index (1: the same clusters, 0: as by chance)"),
        ),
        ("run_a", "run_b"),
    ),
    "psi/contextual": TableSpec(
        "a token and a head, over the corpus",
        (
            *_HEAD,
            Column("token_id", INT32, "token's number"),
            Column("n", INT64, "occurrences of the token"),
            *(
                Column(f"psi_{p}_{m}", FLOAT32, f"{_MOMENT[m]} of psi of {_PSI[p]} over these occurrences")
                for p in _PSI
                for m in _MOMENT
            ),
        ),
        ("layer", "head", "token_id"),
    ),
}
