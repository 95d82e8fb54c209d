"""Occurrences restricted to some literals or sentences, and occurrences of two blocks of sentences joined."""

import numpy as np

from ops.arrays import Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.occurrences import Occurrences


def of_literals(found: Occurrences, which: Int64s) -> Occurrences:
    """Return the occurrences of some of the literals, in the order given.

    >>> three = Occurrences(np.array([0, 1, 2, 0, 2], np.int32), np.array([0, 3, 3, 5]))
    >>> of_literals(three, np.array([2, 0])).sentences.tolist()
    [0, 2, 0, 1, 2]
    """
    return Occurrences(*_of_literals(found.sentences, found.offsets, which))


def of_sentences(found: Occurrences, number: Int32s) -> Occurrences:
    """Return the occurrences in some of the sentences, with these sentences renumbered.

    Args:
        found: the sentences that have each literal.
        number: the new number of each sentence, ascending; -1 for the sentences to omit, `[n]`.

    >>> three = Occurrences(np.array([0, 1, 2, 0, 2], np.int32), np.array([0, 3, 3, 5]))
    >>> of_sentences(three, np.array([-1, 0, 1], np.int32)).sentences.tolist()
    [0, 1, 1]
    """
    return Occurrences(*_of_sentences(found.sentences, found.offsets, number))


def one_after_the_other(first: Occurrences, second: Occurrences, sentences: int) -> Occurrences:
    """Concatenate the occurrences of the same literals over `sentences` sentences and over the sentences after them."""
    return Occurrences(
        *_one_after_the_other(first.sentences, first.offsets, second.sentences, second.offsets, np.int32(sentences))
    )


@compiled
def _of_literals(sentences: Int32s, offsets: Int64s, which: Int64s) -> tuple[Int32s, Int64s]:
    ends = np.zeros(which.size + 1, np.int64)
    for i in range(which.size):
        ends[i + 1] = ends[i] + offsets[which[i] + 1] - offsets[which[i]]
    found = np.empty(ends[-1], np.int32)
    for i in range(which.size):
        found[ends[i] : ends[i + 1]] = sentences[offsets[which[i]] : offsets[which[i] + 1]]
    return found, ends


@compiled
def _of_sentences(sentences: Int32s, offsets: Int64s, number: Int32s) -> tuple[Int32s, Int64s]:
    kept, ends, at = np.empty(sentences.size + 1, np.int32), np.zeros(offsets.size, np.int64), 0
    for literal in range(offsets.size - 1):
        for pair in range(offsets[literal], offsets[literal + 1]):
            # An unsigned index avoids the check for negative indices.
            own = number[np.uint32(sentences[pair])]
            kept[np.uint64(at)] = own
            at += 1 if own >= 0 else 0
        ends[literal + 1] = at
    return kept[:at], ends


@compiled
def _one_after_the_other(
    first: Int32s, first_ends: Int64s, second: Int32s, second_ends: Int64s, sentences: np.int32
) -> tuple[Int32s, Int64s]:
    ends = first_ends + second_ends
    found = np.empty(ends[-1], np.int32)
    for literal in range(ends.size - 1):
        start, size = ends[literal], first_ends[literal + 1] - first_ends[literal]
        found[start : start + size] = first[first_ends[literal] : first_ends[literal + 1]]
        found[start + size : ends[literal + 1]] = second[second_ends[literal] : second_ends[literal + 1]] + sentences
    return found, ends
