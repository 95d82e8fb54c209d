"""One attention head: read its rows of the tables, and lay them out like Table 2 of Maeda 2024."""

from typing import Any

import pyarrow.compute as pc

from ops.facts.text import number, shorten
from ops.storage.store import Store
from ops.storage.tables import read_rows

Rows = list[dict[str, Any]]
LEAST = 10  # a token's mean psi is shown if it occurs at least this often


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


def lay_out_head(layer: int, head: int, clusters: Rows, contextual: Rows, rows: int, width: int) -> str:
    """Return one attention head as text: the clusters of tokens that it stretches most.

    Args:
        layer, head: layer from 1, head from 0.
        clusters: its rows of `psi/clusters`, by rank.
        contextual: the tokens with the highest mean psi_qkv over the corpus, with `token`, `n`, `psi_qkv_mean` and
            `psi_qkv_std`. Empty if no corpus was read.
        rows: lines per list.
        width: characters per line.
    """
    titles = (
        f"{'rank':>6}{'psi_qkv':>9}{'z':>8}{'relative':>10}{'psi_q':>7}{'psi_k':>7}{'psi_v':>7}{'n':>7}  {'type':<9}"
    )
    room = max(width - len(titles), 16)
    lines = [
        f"Head {head} of layer {layer} (L{layer - 1}-H{head} where layers count from 0, as in Maeda 2024)",
        f"{len(clusters):,} clusters of the vocabulary, sorted by psi_qkv of the word embeddings alone",
        "",
        f"{titles}tokens nearest to the centroid",
    ]
    for c in clusters[:rows]:
        numbers = (
            f"{c['rank']:>6}{number(c['psi_qkv'], '.2f', 9)}{number(c['z_qkv'], '.1f', 8)}"
            f"{number(c['relative_qkv'], '.2f', 10)}{number(c['psi_q'], '.2f', 7)}"
            f"{number(c['psi_k'], '.2f', 7)}{number(c['psi_v'], '.2f', 7)}{c['n']:>7,}"
        )
        lines.append(f"{numbers}  {c['type']:<9}{shorten(' '.join(c['tokens']), room)}")
    lines += [
        "",
        "z: standard deviations from a random group of equal size. relative: divided by psi of a random direction.",
        "Clusters of one or two tokens lead by chance more easily than large ones, so look for a high z as well.",
    ]
    if contextual:
        lines += ["", f"{'psi_qkv':>9}{'std':>8}{'n':>9}  tokens, sorted by their mean over the corpus"]
        for t in contextual[:rows]:
            lines.append(
                f"{number(t['psi_qkv_mean'], '.2f', 9)}{number(t['psi_qkv_std'], '.2f', 8)}{t['n']:>9,}  {t['token']}"
            )
    return "\n".join(lines)
