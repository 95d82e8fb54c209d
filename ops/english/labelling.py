"""The labels of trees from the scores of the parser's heads."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ops.english.labels import TreeLabels, first_places
from ops.english.viterbi import CHANGES, DEPTHS, best_depths


def best_labels(
    scores: NDArray[np.float32], lengths: Sequence[int], phrases: Sequence[str], unaries: Sequence[str]
) -> list[TreeLabels]:
    """Return the labels of sentences laid end to end.

    The places that share a phrase choose its name together.

    Args:
        scores: of the four heads side by side, `[words, CHANGES + DEPTHS + len(phrases) + len(unaries)]`.
        lengths: words of each sentence, at least one.
        phrases, unaries: the names that the last two heads choose from.
    """
    change, absolute, phrase, unary = np.split(scores, np.cumsum([CHANGES, DEPTHS, len(phrases)]), axis=1)
    depths = best_depths(absolute, change, lengths)
    starts = (np.cumsum(lengths) - lengths).tolist()
    own = [start + place for start, found in zip(starts, depths, strict=True) for place in range(len(found))]
    owners = np.array(
        [start + place for start, found in zip(starts, depths, strict=True) for place in first_places(found)],
        np.int64,
    )
    names = np.zeros(len(scores), np.int64)
    if len(owners):
        order = np.argsort(owners, kind="stable")
        first = np.flatnonzero(np.diff(owners[order], prepend=-1))
        sums = np.add.reduceat(phrase[np.array(own)[order]], first)
        names[owners[order][first]] = sums.argmax(1)
        names[own] = names[owners]
    chains = unary.argmax(1)
    return [
        TreeLabels(
            found,
            [phrases[name] for name in names[start : start + len(found)].tolist()],
            [unaries[chain] for chain in chains[start : start + length].tolist()],
        )
        for start, length, found in zip(starts, lengths, depths, strict=True)
    ]
