"""Literals that hold of nearly the same sentences: of each set of them one is shown."""

import numpy as np

from ops.arrays import Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.occurrences import Occurrences

NEAR = 0.9  # Jaccard similarity from which two literals are near-copies
_BLOCKS = 64  # of sentences, at most, whose counts rule out most pairs


def near_copies(found: Occurrences, sentences: int, order: Int64s, least: float = NEAR) -> Int64s:
    """Return for each literal the place of the one that is shown for it, `[L] int64`; its own where it is shown itself.

    Literals are taken in the given order. Each joins the first one shown so far with which it has a Jaccard similarity
    of at least `least`, and is otherwise shown itself. No two that are shown are near-copies. A literal without a
    sentence has no copies.

    Args:
        found: the sentences with each of L literals.
        sentences: how many there are.
        order: all places of literals, those to be preferred first, `[L]`.
        least: similarity of near-copies, above 0.

    >>> three = Occurrences(np.array([0, 1, 2, 0, 1, 2, 5], np.int32), np.array([0, 3, 6, 7]))
    >>> near_copies(three, 6, np.array([1, 0, 2])).tolist()
    [1, 1, 2]
    """
    shift = max(0, (max(sentences, 1) - 1).bit_length() - _BLOCKS.bit_length() + 1)
    return _shown(found.sentences, found.offsets, shift, np.asarray(order, np.int64), least, _BLOCKS)


@compiled
def _shown(sentences: Int32s, offsets: Int64s, shift: int, order: Int64s, least: float, blocks: int) -> Int64s:
    literals = offsets.size - 1
    counts = np.zeros((literals, blocks), np.int32)
    for literal in range(literals):
        for pair in range(offsets[literal], offsets[literal + 1]):
            counts[literal, sentences[pair] >> shift] += 1
    shown, leaders = np.arange(literals), np.empty(literals, np.int64)
    found = 0
    for literal in order:
        own = offsets[literal + 1] - offsets[literal]
        for at in range(found):
            other = leaders[at]
            theirs = offsets[other + 1] - offsets[other]
            if min(own, theirs) < least * max(own, theirs):
                continue
            both, either = 0, 0
            for block in range(blocks):
                a, b = counts[literal, block], counts[other, block]
                both += min(a, b)
                either += max(a, b)
            if both >= least * either and _jaccard(sentences, offsets, literal, other) >= least:
                shown[literal] = other
                break
        if shown[literal] == literal and own:
            leaders[found] = literal
            found += 1
    return shown


@compiled
def _jaccard(sentences: Int32s, offsets: Int64s, one: int, other: int) -> float:
    i, j, both = offsets[one], offsets[other], 0
    while i < offsets[one + 1] and j < offsets[other + 1]:
        a, b = sentences[i], sentences[j]
        both += a == b
        i += a <= b
        j += b <= a
    return float(both / (offsets[one + 1] - offsets[one] + offsets[other + 1] - offsets[other] - both))
