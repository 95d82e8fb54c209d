"""The choice of tree labels from the scores of the parser's heads."""

from collections.abc import Sequence

import numpy as np

from ops.arrays import Float32s, Int64s
from ops.compiled import compiled
from ops.english.labels import TreeLabels
from ops.english.viterbi import CHANGES, DEPTHS, best_depths


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
    depths = best_depths(absolute, change, lengths)
    names = common_names(np.ascontiguousarray(phrase), first_places(depths))
    ends = np.cumsum(lengths).tolist()
    depth_of, name_of, chain_of = depths.tolist(), names.tolist(), unary.argmax(1).tolist()
    return [
        TreeLabels(
            depth_of[end - length : end - 1],
            [phrases[name] for name in name_of[end - length : end - 1]],
            [unaries[chain] for chain in chain_of[end - length : end]],
        )
        for end, length in zip(ends, lengths, strict=True)
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


@compiled
def common_names(scores: Float32s, owners: Int64s) -> Int64s:
    """Return for each position the column with the greatest sum over all positions with the same owner, `[places]`.

    Args:
        scores: the scores of the columns at each position, `[places, columns]`.
        owners: the owner of each position, `[places]`; an owner owns itself and never comes after the position.
    """
    sums = np.zeros_like(scores)
    names = np.empty(len(owners), np.int64)
    for place in range(len(owners)):
        for column in range(scores.shape[1]):
            sums[owners[place], column] += scores[place, column]
    for place in range(len(owners)):
        names[place] = sums[place].argmax() if owners[place] == place else names[owners[place]]
    return names
