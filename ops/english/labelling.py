"""The choice of tree labels from the scores of the parser's heads: of depths, their changes, phrases and chains."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from ops.arrays import Float32s, Int64s
from ops.compiled import compiled
from ops.english.labels import TreeLabels

DEPTHS = 28
LOWEST_CHANGE = -24
CHANGES = 31
# The column of the change for each difference of two depths, from 1 - DEPTHS on; the nearest column if out of range.
COLUMNS = np.clip(np.arange(1 - DEPTHS, DEPTHS) - LOWEST_CHANGE, 0, CHANGES - 1)


def best_labels(
    scores: Float32s, lengths: Sequence[int], phrases: Sequence[str], unaries: Sequence[str]
) -> list[TreeLabels]:
    """Return the labels of sentences, which are concatenated.

    The name of a phrase is chosen jointly by all positions that belong to it.

    Args:
        scores: the concatenated scores of the four heads, `[words, CHANGES + DEPTHS + len(phrases) + len(unaries)]`.
        lengths: number of words of each sentence, at least one.
        phrases, unaries: the names that the last two heads choose from.
    """
    change, absolute, phrase, unary = np.split(scores, np.cumsum([CHANGES, DEPTHS, len(phrases)]), axis=1)
    ends = np.cumsum(lengths)
    depths = best_depths(np.ascontiguousarray(absolute), np.ascontiguousarray(change), ends)
    names = common_names(phrase, first_places(depths))
    depth_of, name_of, chain_of = depths.tolist(), names.tolist(), unary.argmax(1).tolist()
    return [
        TreeLabels(
            depth_of[end - length : end - 1],
            [phrases[name] for name in name_of[end - length : end - 1]],
            [unaries[chain] for chain in chain_of[end - length : end]],
        )
        for end, length in zip(ends.tolist(), lengths, strict=True)
    ]


@compiled
def first_places(depths: Int64s) -> Int64s:
    """Return for each position after a word the first position that belongs to the same phrase, `[words]`.

    Args:
        depths: the depth after each word of concatenated sentences, 0 after the last word of each, `[words]`.
    """
    owners = np.empty(len(depths), np.int64)
    path = np.empty(len(depths) + 1, np.int64)
    height = 0
    for place, depth in enumerate(depths):
        while height and depths[path[height - 1]] > depth:
            height -= 1
        if depth == 0 or height == 0 or depths[path[height - 1]] < depth:
            path[height] = place
            height += 1
        owners[place] = path[height - 1]
        if depth == 0:
            height = 0
    return owners


def common_names(scores: Float32s, owners: Int64s) -> Int64s:
    """Return for each position the column with the greatest sum over all positions with the same owner, `[places]`.

    Args:
        scores: the scores of the columns at each position, `[places, columns]`.
        owners: the owner of each position, `[places]`.
    """
    places = len(owners)
    of_owner = csr_array((np.ones(places, np.float32), (owners, np.arange(places))), shape=(places, places))
    names: Int64s = (of_owner @ scores).argmax(1)[owners]
    return names


@compiled
def best_depths(absolute: Float32s, change: Float32s, ends: Int64s) -> Int64s:
    """Return the depths (from 1) with the greatest sum of scores, `[words]`; 0 after the last word of a sentence.

    The depth before the first word is 1. Ties go to the lowest depths, compared from the end.

    Args:
        absolute: log-probabilities of the depths after each word of concatenated sentences, `[words, DEPTHS]`; the
            values of a sentence's last word are ignored.
        change: log-probabilities of the change of depth, `[words, CHANGES]`.
        ends: the place after the last word of each sentence, which has at least one word, `[sentences]`.
    """
    depths = np.zeros(len(absolute), np.int64)
    changes = np.empty(2 * DEPTHS - 1, np.float32)
    scores, best = np.empty(DEPTHS, np.float32), np.empty(DEPTHS, np.float32)
    arrivals = np.empty((len(absolute), DEPTHS), np.int32)
    start = 0
    for end in ends:
        last = end - 1
        for word in range(start, last):
            for k in range(2 * DEPTHS - 1):
                changes[k] = change[word, COLUMNS[k]]
            from_here = arrivals[word]
            for depth in range(DEPTHS):
                best[depth] = (np.float32(0) if word == start else scores[0]) + changes[depth + DEPTHS - 1]
                from_here[depth] = 0
            for before in range(1, DEPTHS if word > start else 1):
                score = scores[before]
                for depth in range(DEPTHS):
                    value = score + changes[depth - before + DEPTHS - 1]
                    from_here[depth] = before if value > best[depth] else from_here[depth]
                    best[depth] = max(value, best[depth])
            for depth in range(DEPTHS):
                scores[depth] = best[depth] + absolute[word, depth]
        if last > start:
            depth = int(scores.argmax())
            for word in range(last - 1, start - 1, -1):
                depths[word] = depth + 1
                depth = arrivals[word, depth]
        start = end
    return depths
