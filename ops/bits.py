"""Sets of sentences as bits, 64 in a word: the sentences that two literals share are counted in one pass over words.

The sentences of a fold are adjacent and start with a word of their own, so that a fold is a range of words.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Arrays, Bools, Int8s, Int64s, Integers, UInt64s
from ops.compiled import compiled

_LOW, _PAIRS, _FOURS, _EIGHTS = (
    np.uint64(number) for number in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)


@dataclass(frozen=True)
class Layout:
    """Where the bit of each sentence is.

    Attributes:
        place: the bit of each sentence, `[n]`.
        starts: the first word of each fold, and the number of words, `[folds + 1]`.
    """

    place: Int64s
    starts: Int64s

    @classmethod
    def of(cls, fold: Int8s, folds: int) -> Self:
        """Lay out sentences by fold, `[n]`; the sentences of a fold keep their order."""
        sizes = np.bincount(fold, minlength=folds)
        starts = np.concatenate(([0], np.cumsum(-(-sizes // 64))))
        order = np.argsort(fold, kind="stable")
        place = np.empty(len(fold), np.int64)
        first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        place[order] = np.arange(len(fold)) + (64 * starts[:-1] - first)[fold[order]]
        return cls(place, starts)

    @property
    def words(self) -> int:
        """The number of words of a set of sentences."""
        return int(self.starts[-1])

    def fold(self, number: int) -> slice:
        """Return the words of a fold."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def values(self, values: Arrays, nothing: int = 0) -> Arrays:
        """Return the values of sentences by bit, `[64 * words]`; bits without a sentence get `nothing`."""
        by_bit = np.full(64 * self.words, nothing, values.dtype)
        by_bit[self.place] = values
        return by_bit

    def of_folds(self, bits: UInt64s) -> Int64s:
        """Return how many sentences of each fold are in each set, `[folds, sets]`, given the sets' `[sets, words]`."""
        parts = [bits[:, self.fold(number)] for number in range(len(self.starts) - 1)]
        return np.stack([shared(part, np.full((1, part.shape[1]), ~np.uint64(0)))[:, 0] for part in parts])


@compiled
def bits_of(places: Integers, offsets: Int64s, which: Int64s, words: int) -> UInt64s:
    """Return sets of bits, `[which, words]`: the set of i has the bits `places[offsets[i]:offsets[i + 1]]`."""
    bits = np.zeros((which.size, words), np.uint64)
    for number in range(which.size):
        for index in range(offsets[which[number]], offsets[which[number] + 1]):
            bits[number, places[index] >> 6] |= np.uint64(1) << np.uint64(places[index] & 63)
    return bits


def one_set(places: Int64s, words: int) -> UInt64s:
    """Return one set of bits, `[words]`."""
    return np.asarray(bits_of(places, np.array([0, len(places)]), np.zeros(1, np.int64), words)[0])


@compiled
def picked(bits: UInt64s, places: Int64s, to: Int64s, words: int) -> UInt64s:
    """Return sets of bits, `[sets, words]`: bit `to[i]` of a set is its bit `places[i]`."""
    found = np.zeros((len(bits), words), np.uint64)
    for number in range(len(bits)):
        for index in range(places.size):
            bit = (bits[number, places[index] >> 6] >> np.uint64(places[index] & 63)) & np.uint64(1)
            found[number, to[index] >> 6] |= bit << np.uint64(to[index] & 63)
    return found


def are_in(bits: UInt64s) -> Bools:
    """Return whether each bit is in a set, `[..., 64 * words]`, given `bits [..., words]`."""
    return np.unpackbits(bits.view(np.uint8), axis=-1, bitorder="little").view(np.bool_)


def as_bits(has: Bools) -> UInt64s:
    """Return sets of n sentences as bits, `[sets, ceil(n / 64)]`, given which of them each set has, `[sets, n]`."""
    sets, n = has.shape
    packed = np.packbits(has, axis=1, bitorder="little")
    padded = np.zeros((sets, -(-n // 64) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


@compiled
def _ones(word: np.uint64) -> np.uint64:
    """Return the number of bits of a word that are 1."""
    word = word - ((word >> np.uint64(1)) & _LOW)
    word = (word & _PAIRS) + ((word >> np.uint64(2)) & _PAIRS)
    return (((word + (word >> np.uint64(4))) & _FOURS) * _EIGHTS) >> np.uint64(56)


@compiled
def shared(some: UInt64s, others: UInt64s) -> Int64s:
    """Return how many sentences each set of `some` shares with each set of `others`, `[some, others]`."""
    counts = np.zeros((len(some), len(others)), np.int64)
    for i in range(len(some)):
        for j in range(len(others)):
            total = np.uint64(0)
            for word in range(some.shape[1]):
                total += _ones(some[i, word] & others[j, word])
            counts[i, j] = total
    return counts
