"""The number of times that each word occurs near each context word, counted exactly."""

import numpy as np
import pyarrow as pa

from ops.arrays import Int32s, Int64s
from ops.meaning.vocabulary import Vocabulary, add_counts
from ops.meaning.words import SENTENCE_END, numbered, words_and_ends

_SENTENCES = 10_000  # number of sentences of a chunk


class ContextCounter:
    """Counts the contexts of the words of a vocabulary.

    Args:
        window: number of words on each side, within the sentence. Words that are not counted still occupy positions in
            the window.
        case: `keep` or `lower`.
    """

    def __init__(self, vocabulary: Vocabulary, window: int, case: str) -> None:
        self.window, self.case = window, case
        self.row, self.column = vocabulary.row, vocabulary.column
        self.columns = int((vocabulary.column >= 0).sum())
        self.numbers = {word: i for i, word in enumerate(vocabulary.words)}

    def count(self, texts: list[str]) -> pa.Table:
        """Count the pairs of some sentences; in memory are one chunk and the distinct pairs.

        Returns:
            A table of the pairs with `key` (the row times the number of columns, plus the column) in ascending order,
            and `total`: how often the word of that row occurred near the context word of that column. `add_counts` adds
            up the tables of disjoint sets of sentences.
        """
        starts = range(0, max(len(texts), 1), _SENTENCES)
        return add_counts(self._count_chunk(texts[start : start + _SENTENCES]) for start in starts)

    def _count_chunk(self, texts: list[str]) -> pa.Table:
        words = numbered(words_and_ends(texts, self.case), self.numbers)
        pairs = _pairs(words, self.row, self.column, self.window, self.columns)
        keys, totals = np.unique(pairs, return_counts=True)
        return pa.table({"key": keys, "total": totals})


def _pairs(words: Int32s, row: Int32s, column: Int32s, window: int, columns: int) -> Int64s:
    """Return a key for each pair of a word with a row and a context word near it in the same sentence."""
    sentence = np.cumsum(words == SENTENCE_END)
    rows, contexts = (np.where(words >= 0, numbers[words], -1).astype(np.int64) for numbers in (row, column))
    keys = [np.zeros(0, np.int64)]
    for distance in range(1, window + 1):
        apart = slice(None, -distance), slice(distance, None)
        for one, other in (apart, apart[::-1]):
            kept = (rows[one] >= 0) & (contexts[other] >= 0) & (sentence[one] == sentence[other])
            keys.append(rows[one][kept] * columns + contexts[other][kept])
    return np.concatenate(keys)
