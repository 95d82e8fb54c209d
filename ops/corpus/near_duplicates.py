"""Grouping of texts that share a band of their signatures into near-duplicates, each group with a representative."""

import numpy as np

from ops.arrays import Bools, Float64s, Int64s, UInt8s, UInt64s, begins_group, places_among
from ops.compiled import compiled

WINDOW = 4  # number of preceding texts of its bucket that each text is compared with, in addition to the first
_STEP = 1 << 16  # pairs


def candidate_pairs(hashes: UInt64s, position: Int64s) -> Int64s:
    """Return the pairs of texts to compare.

    In each bucket, every text is compared with the first text and with the few texts just before it.

    Args:
        hashes: the hashes of bands; texts with equal hashes form a bucket.
        position: the position of each hash's text; positions ascend in the order of the texts.

    Returns:
        Distinct pairs of positions, the lower one first, `[pairs, 2]` int64. The number of pairs grows only with the
        number of hashes, independently of the sizes of the buckets.
    """
    order = np.lexsort((position, hashes))
    key, texts = hashes[order], position[order]
    start = begins_group(key)
    first = texts[np.flatnonzero(start)[np.cumsum(start) - 1]]
    pairs = [np.column_stack((first, texts))[~start]]
    for back in range(1, WINDOW + 1):
        same = key[back:] == key[:-back]
        pairs.append(np.column_stack((texts[:-back][same], texts[back:][same])))
    return distinct_pairs(np.concatenate(pairs))


def distinct_pairs(pairs: Int64s) -> Int64s:
    """Return the distinct pairs, sorted by the second and then by the first position."""
    pairs = pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]
    return pairs[begins_group(*pairs.T)]


def similarity(one: UInt8s, other: UInt8s) -> Float64s:
    """Return the Jaccard similarity of texts, `[pairs]`, estimated from short signatures, each `[pairs, 128]` uint8.

    The estimate corrects for the 1 of 256 cases in which different numbers agree by chance (Li, Koenig, b-Bit Minwise
    Hashing, WWW 2010, theorem 1 for sets that are small compared with their universe).
    """
    agreed = (one == other).mean(1)
    return np.asarray((agreed - 1 / 256) / (1 - 1 / 256))


def similar_pairs(signatures: UInt8s, index: Int64s, others: UInt8s, threshold: float) -> Bools:
    """Return which pairs of texts have an estimated similarity of at least `threshold`, `[pairs]` bool.

    Args:
        signatures: short signatures of texts, `[texts, 128]` uint8.
        index: the index in `signatures` of each pair's first text, `[pairs]`.
        others: the short signature of each pair's other text, `[pairs, 128]`.
        threshold: the Jaccard similarity.
    """
    steps = [slice(at, at + _STEP) for at in range(0, len(index), _STEP)]
    similar = [similarity(signatures[index[step]], others[step]) >= threshold for step in steps]
    return np.concatenate([*similar, np.zeros(0, bool)])


@compiled
def representatives(texts: int, pairs: Int64s) -> Int64s:
    """Return the representative of each text: the first kept text that it is similar to, or itself.

    So each dropped text is similar to its representative. Grouping complete chains of texts, each similar to the next,
    would join dissimilar texts: at a threshold of 0.6, almost a third of the sentences that are dropped from a news
    corpus.

    Args:
        texts: number of texts.
        pairs: indices of two similar texts, the lower one first, sorted by the second and then by the first.

    Returns:
        The index of each text's representative, `[texts]` int64.
    """
    kept = np.arange(texts)
    for i in range(len(pairs)):
        one, other = pairs[i]
        if kept[one] == one and kept[other] == other:
            kept[other] = one
    return kept


def similar_groups(pairs: Int64s, copies: Int64s) -> tuple[Bools, Int64s, Int64s]:
    """Group texts around their representatives.

    Args:
        pairs: indices of two similar texts, as `representatives` takes them.
        copies: how often each text occurs, `[texts]`.

    Returns:
        Which texts belong to a group of several texts, `[texts]`; and for each of these texts, in order, the index of
        its representative and the total number of occurrences of the texts in its group.
    """
    kept = representatives(len(copies), pairs)
    grouped = np.zeros(len(copies), bool)
    dropped = kept != np.arange(len(copies))
    grouped[dropped] = grouped[kept[dropped]] = True
    total = np.zeros(len(copies), np.int64)
    np.add.at(total, kept, copies)
    return grouped, kept[grouped], total[kept[grouped]]


def without_dropped(position: Int64s, copies: Int64s, near: tuple[Int64s, Int64s, Int64s]) -> tuple[Bools, Int64s]:
    """Return which texts are kept, `[texts]` bool, and how often each then occurs, `[texts]` int64.

    Args:
        position, copies: the position of some texts and how often each occurs, `[texts]`.
        near: three arrays over all near-duplicates of any of these texts, including the representatives: their
            ascending positions, the position of each one's representative, and the total number of occurrences of
            the texts in the representative's group.
    """
    index, is_near = places_among(near[0], position)
    kept, total = ~is_near, copies.copy()
    kept[is_near] = near[1][index] == position[is_near]
    total[is_near] = near[2][index]
    return kept, total
