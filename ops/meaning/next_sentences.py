"""The test whether a document's next sentence can be distinguished from other sentences, with areas by layer."""

from typing import Any, NamedTuple

import numpy as np

from ops.arrays import Float32s, Int64s, UInt64s
from ops.hashing import mix
from ops.sampling import NEXT_SENTENCES, OTHER_SENTENCES, priorities
from ops.statistics.by_document import area_by_document

SAME, OTHER = "same_document", "other_document"
TOKENS, HEAD, SHUFFLED = "tokens", "head", "shuffled"
LEAST_PAIRS = 20
DISTANCE = 3  # minimum difference of position between the first and the distant sentence of its document
_TRIES = 32


class Pairs(NamedTuple):
    """Sentences that have a next sentence, as rows of a shard; all arrays are `[pairs]`.

    Attributes:
        first: the sentence.
        following: the sentence directly after it in its document.
        same: another sentence of its document, `DISTANCE` positions or more away; -1 if the document has none.
        order: the seeded order of the pairs, uint64.
    """

    first: Int64s
    following: Int64s
    same: Int64s
    order: UInt64s


def find_pairs(sent_ids: Int64s, documents: Int64s, places: Int64s, seed: int) -> Pairs:
    """Return the pairs of a shard in seeded order: a sentence, the next one, and a distant one of the same document.

    Only documents with at least three sentences in the shard are used. The distant sentence is not a close neighbour,
    which would be nearly as similar as the next sentence.

    Args:
        sent_ids: the ids of the shard's sentences, `[rows]`.
        documents: the index of each sentence's document, `[rows]`.
        places: the position of each sentence in its document, `[rows]`; sentences with consecutive positions are
            consecutive.
        seed: the run's seed.
    """
    order = np.lexsort((places, documents))
    document, place = documents[order], places[order]
    starts = np.flatnonzero(np.concatenate([[True], document[1:] != document[:-1]])) if len(order) else order
    sizes = np.diff(np.append(starts, len(order)))
    start, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    consecutive = np.flatnonzero((document[1:] == document[:-1]) & (place[1:] == place[:-1] + 1))
    at = consecutive[size[consecutive] >= 3]
    priority = priorities(sent_ids[order[at]].astype(np.uint64), seed, NEXT_SENTENCES)
    # Document and position as one ascending number, with gaps so large that no distance reaches another document.
    key = document * (int(place.max(initial=0)) + 1 + DISTANCE) + place
    before = np.searchsorted(key, key[at] - DISTANCE, "right") - start[at]
    after = np.searchsorted(key, key[at] + DISTANCE)
    distant = before + start[at] + size[at] - after
    drawn = (mix(priority) % np.maximum(distant, 1).astype(np.uint64)).astype(np.int64)
    row = np.where(drawn < before, start[at] + drawn, after + drawn - before)
    third = np.where(distant > 0, order[np.minimum(row, len(order) - 1)], -1)
    taken = np.argsort(priority, kind="stable")
    return Pairs(order[at][taken], order[at + 1][taken], third[taken], priority[taken])


def other_documents(documents: list[str], seed: int) -> Int64s:
    """Return for each pair the index of a random pair of a different document, `[pairs]`; -1 if none was found.

    The next sentence of this pair is used as the random sentence of another document, so that both classes contain the
    same kind of sentence.
    """
    n = len(documents)
    if not n:
        return np.zeros(0, np.int64)
    _, number = np.unique(np.array(documents, object), return_inverse=True)
    drawn = np.random.default_rng([seed, OTHER_SENTENCES]).integers(0, n, (n, _TRIES))
    differs = number[drawn] != number[:, None]
    return np.where(differs.any(1), drawn[np.arange(n), differs.argmax(1)], -1)


def next_rows(scores: dict[str, Float32s], documents: list[str], seed: int) -> list[dict[str, Any]]:
    """Return the rows of `meaning/sentences`.

    Args:
        scores: for each space, each pair's score with the next sentence, with a distant sentence of its document and
            with a sentence of another document, `[pairs, 3]`; NaN if there is no such sentence.
        documents: the document of each pair.
        seed: the seed of the shuffled control, in which the last layer's two scores are swapped at random.
    """
    _, number = np.unique(np.array(documents, object), return_inverse=True)
    layers = [name for name in scores if name.startswith("layer:")]
    given = dict(scores)
    if layers:
        given[SHUFFLED] = scores[layers[-1]]
    rows: list[dict[str, Any]] = []
    for space, of_pairs in given.items():
        for column, against in ((1, SAME), (2, OTHER)):
            known = np.isfinite(of_pairs[:, 0]) & np.isfinite(of_pairs[:, column])
            distinct = len(np.unique(number[known]))
            if known.sum() < LEAST_PAIRS or distinct < 2:
                continue
            following, other = of_pairs[known, 0], of_pairs[known, column]
            if space == SHUFFLED:
                swap = np.random.default_rng([seed, NEXT_SENTENCES, column]).random(len(other)) < 0.5
                following, other = np.where(swap, other, following), np.where(swap, following, other)
            row = {"space": space, "against": against, "n": int(known.sum()), "documents": distinct}
            rows.append(row | area_by_document(following, other, number[known]).columns("auc", ""))
    return sorted(rows, key=lambda row: (row["space"], row["against"]))


def best_layer(rows: list[dict[str, Any]], against: str) -> int | None:
    """Return the layer with the highest area against one kind of sentence; None if there are no rows."""
    own = [(row["auc"], -int(row["space"][6:])) for row in rows
           if row["against"] == against and row["space"].startswith("layer:")]  # fmt: skip
    return -max(own)[1] if own else None
