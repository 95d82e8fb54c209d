"""Literals that hold of nearly the same sentences: of each set of them one is shown."""

import numpy as np

from ops.arrays import Int32s, Int64s, UInt64s
from ops.compiled import compiled
from ops.patterns.occurrences import Occurrences

NEAR = 0.9  # Jaccard similarity from which two literals are near-copies


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
    return _shown(found.sentences, found.offsets, sentences, np.asarray(order, np.int64), least)


@compiled
def _bits(sentences: Int32s, offsets: Int64s, n: int) -> UInt64s:
    """Return a bit for each of n sentences, set where a literal has it, `[L, ceil(n / 64)]`."""
    bits = np.zeros((offsets.size - 1, (n + 63) // 64), np.uint64)
    for literal in range(offsets.size - 1):
        row = bits[literal]
        for pair in range(offsets[literal], offsets[literal + 1]):
            sentence = np.uint64(sentences[pair])
            row[sentence >> np.uint64(6)] |= np.uint64(1) << (sentence & np.uint64(63))
    return bits


@compiled
def _set_bits(word: np.uint64) -> int:
    """Return how many bits are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _shown(sentences: Int32s, offsets: Int64s, n: int, order: Int64s, least: float) -> Int64s:
    bits, size = _bits(sentences, offsets, n), np.diff(offsets)
    shown, leaders = np.arange(size.size), np.empty(size.size, np.int64)
    sizes = np.empty(size.size)
    # Of two literals with a and b sentences, more than so much of a + b that only one of them has rules a copy out.
    apart = (1 - least) / (1 + least) + 1e-9
    found = 0
    for literal in order:
        own = size[literal]
        low, high = least * own - 1e-6, own / least + 1e-6
        for at in range(found):
            theirs = sizes[at]
            if theirs < low or theirs > high:
                continue
            other = leaders[at]
            most, differ = apart * (own + theirs), 0
            one, two = bits[literal], bits[other]
            for word in range(one.size):
                differ += _set_bits(one[word] ^ two[word])
                if differ > most:
                    break
            both = (own + theirs - differ) // 2
            if differ <= most and both / (own + theirs - both) >= least:
                shown[literal] = other
                break
        if shown[literal] == literal and own:
            leaders[found], sizes[found] = literal, own
            found += 1
    return shown
