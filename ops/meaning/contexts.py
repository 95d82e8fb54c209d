"""The number of times that each word occurs near each context word, counted exactly and summed over shards."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from ops.arrays import Int32s, Int64s
from ops.compiled import compiled
from ops.meaning.vocabulary import Vocabulary
from ops.meaning.words import SENTENCE_END, numbered, words_and_ends

_SENTENCES = 10_000  # number of sentences of a chunk
_TOGETHER = 1 << 22  # number of rows that are summed at once


class Counts(NamedTuple):
    """Counts of pairs over a set of sentences.

    `add_up` merges the counts of disjoint sets of sentences; the order does not affect the result.

    Attributes:
        key: the row times the number of columns, plus the column, in ascending order, `[pairs]` int64.
        total: how often the word of that row occurred near the context word of that column, `[pairs]` int64.
    """

    key: Int64s
    total: Int64s


class ContextCounter:
    """Counts the contexts of the words of a vocabulary.

    Args:
        vocabulary: the words and context words.
        window: number of words on each side, within the sentence. Words that are not counted still occupy positions in
            the window.
        case: `keep` or `lower`.
    """

    def __init__(self, vocabulary: Vocabulary, window: int, case: str) -> None:
        self.window, self.case = window, case
        self.row, self.column = vocabulary.row, vocabulary.column
        self.columns = int((vocabulary.column >= 0).sum())
        self.numbers = {word: i for i, word in enumerate(vocabulary.words)} | {"\n": SENTENCE_END}

    def count(self, texts: list[str]) -> Counts:
        """Return the counts of some sentences; in memory are one chunk and the distinct pairs."""
        chunks = (texts[start : start + _SENTENCES] for start in range(0, len(texts), _SENTENCES))
        return add_up(self._chunk(chunk) for chunk in chunks)

    def _chunk(self, texts: list[str]) -> Counts:
        words = numbered(words_and_ends(texts, self.case), self.numbers)
        return Counts(*np.unique(_pairs(words, self.row, self.column, self.window, self.columns), return_counts=True))


def add_up(parts: Iterable[Counts]) -> Counts:
    """Return the sums of counts; in memory are the distinct pairs and some millions of rows."""
    kept = [Counts(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for part in parts:
        kept.append(part)
        if sum(len(p.key) for p in kept[1:]) > max(_TOGETHER, len(kept[0].key)):
            kept = [_merged(kept)]
    return _merged(kept)


def _merged(parts: list[Counts]) -> Counts:
    key, total = (np.concatenate(column) for column in zip(*parts, strict=True))
    found = coo_array((total, (key,)), (int(key.max(initial=0)) + 1,))
    found.sum_duplicates()
    return Counts(found.coords[0].astype(np.int64), found.data)


@compiled
def _pairs(words: Int32s, row: Int32s, column: Int32s, window: int, columns: int) -> Int64s:
    """Return a key for each pair of a word with a row and a context word near it in the same sentence."""
    size = len(words)
    found = 0
    keys = np.empty(0, np.int64)
    for fill in range(2):
        if fill == 1:
            keys = np.empty(found, np.int64)
            found = 0
        for i in range(size):
            word = words[i]
            if word < 0 or row[word] < 0:
                continue
            base = np.int64(row[word]) * columns
            for step in (-1, 1):
                j = i + step
                left = window
                while left > 0 and 0 <= j < size and words[j] != -2:
                    other = words[j]
                    if other >= 0 and column[other] >= 0:
                        if fill == 1:
                            keys[found] = base + column[other]
                        found += 1
                    j += step
                    left -= 1
    return keys
