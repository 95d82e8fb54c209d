"""The test whether a document's next sentence can be distinguished from other sentences: draw, scores and areas."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from ops.arrays import Arrays, Float32s, Int64s, UInt64s, begins_group
from ops.hashing import mix
from ops.meaning.readers import SentenceReader, own_ids
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
        sent_ids, documents: the ids of the shard's sentences, and the index of each sentence's document, `[rows]`.
        places: the position of each sentence in its document, `[rows]`; sentences with consecutive positions are
            consecutive.
    """
    order = np.lexsort((places, documents))
    document, place = documents[order], places[order]
    starts = np.flatnonzero(begins_group(document))
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


def read_pairs(
    reader: SentenceReader, head: torch.nn.Module | None, texts: list[list[str | None]]
) -> dict[str, Arrays]:
    """Return a model's results for pairs: the similarity of the first sentence to each of the three others.

    `head` is the same model with its head for next-sentence prediction, None if it has none, and `texts` are the four
    texts of each pair, as `choose_sentences` returns them.

    Returns:
        The arrays `cosine` (in each layer, `[pairs, 3, layers]`), `tokens` (the token overlap, `[pairs, 3]`) and, with
        a head, `head` (its scores, `[pairs, 3]`). Values are NaN if a text is null.
    """
    # A missing sentence is replaced by the first sentence, because a decoder makes no token from an empty text.
    flat = [text or own[0] or "" for own in texts for text in own]
    tokens = reader.tokenizer.encode(flat)
    states = reader.read(tokens).reshape(len(texts), 4, reader.layers, -1)
    ids = [own_ids(own) for own in tokens]
    shared = [[overlap(ids[i], ids[i + k]) for k in (1, 2, 3)] for i in range(0, len(flat), 4)]
    results = {"cosine": cosines(states[:, 1:], states[:, :1]), "tokens": np.array(shared, np.float32)}
    if head is not None:
        results["head"] = np.stack([reader.next_scores(head, flat[::4], flat[k::4]) for k in (1, 2, 3)], 1)
    missing = np.array([[text is None for text in own[1:]] for own in texts])
    for values in results.values():
        values[missing] = np.nan
    return results


def cosines(states: Float32s, others: Float32s) -> Float32s:
    """Return the cosine of each pair of states over the last axis, computed in float64 and rounded to float32."""
    a, b = states.astype(np.float64), others.astype(np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(-1) / lengths, np.float32)


def overlap(first: list[int], second: list[int]) -> float:
    """Return the number of shared distinct tokens, divided by the square root of the product of both distinct counts.

    >>> overlap([1, 2, 2], [2, 3])
    0.5
    """
    a, b = set(first), set(second)
    return len(a & b) / max(math.sqrt(len(a) * len(b)), 1.0)


def next_rows(results: dict[str, Arrays], documents: list[str], seed: int) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of `meaning/sentences`, and the number of pairs skipped because a state is not finite.

    In the control `shuffled`, the last layer's similarities to the next and the other sentence are swapped at random.
    `results` are those of `read_pairs` for all pairs, and `documents` the document of each pair.
    """
    near, shared = results["cosine"], results["tokens"]
    # Without a distant sentence, its token overlap is also NaN.
    good = np.asarray((np.isfinite(near[:, :2]).all(2) | np.isnan(shared[:, :2])).all(1))
    scores = {TOKENS: shared, SHUFFLED: near[:, :, -1]}
    scores |= {f"layer:{layer + 1}": near[:, :, layer] for layer in range(near.shape[2])}
    if "head" in results:
        scores[HEAD] = results["head"]
    document, rows = np.array(documents, object), []
    for space, of_pairs in scores.items():
        for column, against in ((1, SAME), (2, OTHER)):
            known = good & np.isfinite(of_pairs[:, 0]) & np.isfinite(of_pairs[:, column])
            distinct = len(np.unique(document[known]))
            if known.sum() < LEAST_PAIRS or distinct < 2:
                continue
            following, other = of_pairs[known, 0], of_pairs[known, column]
            if space == SHUFFLED:
                swap = np.random.default_rng([seed, NEXT_SENTENCES, column]).random(len(other)) < 0.5
                following, other = np.where(swap, other, following), np.where(swap, following, other)
            row = {"space": space, "against": against, "n": int(known.sum()), "documents": distinct}
            rows.append(row | area_by_document(following, other, document[known]).columns("auc", ""))
    return sorted(rows, key=lambda row: (row["space"], row["against"])), int((~good).sum())
