"""Pieces of shards, so small that a corpus of a few shards keeps all workers busy to the end."""

import numpy as np

from ops.shards import Ids, Shards

PER_PIECE = 512  # sentences, at most


def pieces(ids: Ids, shards: Shards) -> list[dict[str, int]]:
    """Return the selected sentences in pieces, each of one shard and with no more than `PER_PIECE` of them.

    Args:
        ids: the sentences, sorted, each once.
        shards: those of the corpus.

    Returns:
        Of each its `piece` number, its `shard`, the `first` and `last` sentence, and how many `sentences` are selected.
    """
    found: list[dict[str, int]] = []
    for shard, own in enumerate(shards.split(ids)):
        for part in np.array_split(own, -(-len(own) // PER_PIECE)) if len(own) else []:
            span = {"first": int(part[0]), "last": int(part[-1])}
            found.append({"piece": len(found), "shard": shard, **span, "sentences": len(part)})
    return found
