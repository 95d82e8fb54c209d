"""The tables of the side job psi."""

from ops.schema.columns import LAYER, tables

_HEAD = f"""
{LAYER}
head int16: attention head within the layer, counted from 0
"""
_PSI = {"q": "the query", "k": "the key", "v": "the value", "qkv": "the product of these three"}
_MOMENTS = """
psi_{0}_mean float32: mean of psi of {1} over these occurrences
psi_{0}_std float32: standard deviation (ddof 0) of psi of {1} over these occurrences
"""


def _each(line: str) -> str:
    """Return a line for each kind of psi, given one with the places of its name and of what it is about."""
    return "\n".join(line.format(*kind) for kind in _PSI.items())


TABLES = tables(f"""
table psi/vocabulary by token_id: a token of the vocabulary
    token_id int32: token's number, which is its row in the word embeddings
    token string?: token as written in the vocabulary; null for a row that the tokenizer never produces
    type string: `Words`, `Subwords`, `Numbers`, `Symbols`, `Special` or `Tags`, by its characters
    cluster int32: its k-means cluster of the word embeddings, counted from 0
    cluster_type string: the type that most tokens of its cluster have
    norm float32: Euclidean norm of its word embedding
    distance float32: Euclidean distance from its cluster's centroid
    supercluster int32: cluster of its centroid when all centroids are clustered, counted from 0

table psi/tokens by layer, head, token_id: a token and a head, by the word embedding alone
    {_HEAD}
    token_id int32: token's number
    {_each("psi_{} float32?: norm stretch ratio of {}; null for a zero vector")}

table psi/clusters by layer, head, rank: a cluster and a head, by the word embeddings alone
    {_HEAD}
    cluster int32: cluster of tokens
    type string: the type that most of its tokens have
    tokens list[string]: tokens nearest to the centroid, the nearest first
    n int64: tokens over which the means are taken (those with a zero vector have no psi)
    {_each("psi_{} float32?: mean psi of {} over its tokens")}
    {_each("z_{0} float32?: standard deviations by which `psi_{0}` exceeds random groups of its size")}
    {_each("relative_{0} float32?: `psi_{0}` divided by that of a random direction")}
    rank int32: rank by psi_qkv within the head, counted from 1

table psi/agreement by run_a, run_b: a pair of k-means runs over the vocabulary that differ in their seed
    run_a int32: one run, counted from 0; run 0 gave the clusters of the other tables
    run_b int32: the other run
    rand_index float64: adjusted Rand index (1: the same clusters, 0: as by chance)

table psi/contextual by layer, head, token_id: a token and a head, over the corpus
    {_HEAD}
    token_id int32: token's number
    n int64: occurrences of the token
    {_each(_MOMENTS)}
""")
