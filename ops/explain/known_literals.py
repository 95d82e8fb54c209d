"""The literals of the sentences with which all neurons are compared, computed once for all neurons."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.explain.answers import Answers
from ops.patterns.occurrences import Occurrences


def one_after_another(parts: Iterable[tuple[Occurrences, int]]) -> Occurrences:
    """Concatenate the occurrences of the same literals over consecutive blocks of sentences.

    Args:
        parts: the occurrences of each block, and its number of sentences.
    """
    runs = list(parts)
    starts = np.cumsum([0, *(size for _, size in runs)])
    support = np.array([found.support() for found, _ in runs])
    offsets = np.concatenate(([0], np.cumsum(support.sum(0))))
    sentences, free = np.empty(offsets[-1], np.int32), offsets[:-1].copy()
    for (found, _), start in zip(runs, starts[:-1], strict=True):
        _append(found.sentences, found.offsets, np.int32(start), free, sentences)
    return Occurrences(sentences, offsets)


def beside(first: Occurrences, second: Occurrences) -> Occurrences:
    """Return the occurrences of the first literals followed by those of the second ones, over the same sentences."""
    offsets = np.concatenate((first.offsets, second.offsets[1:] + first.offsets[-1]))
    return Occurrences(np.concatenate((first.sentences, second.sentences)), offsets)


@dataclass(frozen=True)
class KnownLiterals:
    """Which of the L literals each of n sentences has.

    Attributes:
        found: the sentences that have each literal.
        sentences: the number of sentences, n.
    """

    found: Occurrences
    sentences: int

    @cached_property
    def answers(self) -> Answers:
        """The literals of each sentence."""
        return Answers.of(self.found, self.sentences)

    def support(self, places: Int64s) -> Int64s:
        """Return how many of these sentences have each literal, `[L]`."""
        return self.answers.support(places)

    def of(self, keep: Bools) -> "KnownLiterals":
        """Return the matrix of only the sentences that `keep [n]` marks, renumbered from 0."""
        place = np.cumsum(keep, dtype=np.int32) - np.int32(1)
        kept = keep[self.found.sentences]
        offsets = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))[self.found.offsets]
        return KnownLiterals(Occurrences(place[self.found.sentences[kept]], offsets), int(keep.sum()))


@compiled
def _append(own: Int32s, offsets: Int64s, start: np.int32, free: Int64s, sentences: Int32s) -> None:
    for literal in range(offsets.size - 1):
        for place in range(offsets[literal], offsets[literal + 1]):
            sentences[free[literal]] = own[place] + start
            free[literal] += 1
