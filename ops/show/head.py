"""One attention head: its rows of the tables, in lists like Table 2 of Maeda 2024."""

from typing import Any

import pyarrow.compute as pc

from ops.facts.listing import Listing
from ops.storage.store import Store
from ops.storage.tables import read_rows

Rows = list[dict[str, Any]]
LEAST = 10  # a token's mean psi is shown if it occurs at least this often
_CLUSTERS = [
    ("rank", "{rank}"), ("psi_qkv", "{psi_qkv:.2f}"), ("z", "{z_qkv:.1f}"), ("relative", "{relative_qkv:.2f}"),
    ("psi_q", "{psi_q:.2f}"), ("psi_k", "{psi_k:.2f}"), ("psi_v", "{psi_v:.2f}"), ("n", "{n:,}"), ("type", "{type}"),
    ("tokens nearest to the centroid", "{tokens:words}"),
]  # fmt: skip
_TOKENS = [("psi_qkv", "{psi_qkv_mean:.2f}"), ("std", "{psi_qkv_std:.2f}"), ("n", "{n:,}"), ("token", "{token}")]


def read_head(store: Store, layer: int, head: int, rows: int, has_contextual: bool) -> tuple[Rows, Rows]:
    """Return a head's rows of `psi/clusters`, and the tokens with the highest mean psi_qkv over the corpus.

    Args:
        store: the run's folder.
        layer, head: layer from 1, head from 0.
        rows: the number of tokens to return at most. Rare tokens are left out.
        has_contextual: whether a corpus was read. Without one there are no tokens.
    """
    here = (pc.field("layer") == layer) & (pc.field("head") == head)
    clusters = read_rows(store, "psi/clusters", here)
    if not has_contextual:
        return clusters, []
    columns = ["token_id", "n", "psi_qkv_mean", "psi_qkv_std"]
    found = read_rows(store, "psi/contextual", here & (pc.field("n") >= LEAST), columns)
    best = sorted(found, key=lambda t: (-t["psi_qkv_mean"], t["token_id"]))[:rows]
    wanted = pc.field("token_id").isin([t["token_id"] for t in best])
    names = {n["token_id"]: n["token"] for n in read_rows(store, "psi/vocabulary", wanted, ["token_id", "token"])}
    return clusters, [{**t, "token": names[t["token_id"]]} for t in best]


def head_listings(layer: int, head: int, clusters: Rows, contextual: Rows, rows: int) -> list[Listing]:
    """Return the clusters of tokens that an attention head stretches most, and single tokens, as lists.

    Args:
        layer, head: layer from 1, head from 0.
        clusters: its rows of `psi/clusters`, by rank.
        contextual: the tokens with the highest mean psi_qkv over the corpus, with `token`, `n`, `psi_qkv_mean` and
            `psi_qkv_std`. Empty if no corpus was read.
        rows: rows per list.
    """
    about = (
        f"Head {head} of layer {layer} (L{layer - 1}-H{head} where layers count from 0, as in Maeda 2024): "
        f"{len(clusters):,} clusters of the vocabulary, sorted by psi_qkv of the word embeddings alone"
    )
    notes = [
        "z: standard deviations from a random group of equal size. relative: divided by psi of a random direction.",
        "Clusters of one or two tokens lead by chance more easily than large ones, so look for a high z as well.",
    ]
    listings = [Listing.of(about, _CLUSTERS, clusters[:rows], notes)]
    if contextual:
        about = "Tokens, sorted by their mean psi_qkv over the corpus"
        listings.append(Listing.of(about, _TOKENS, contextual[:rows]))
    return listings
