"""Looks up patterns in a large collection of patterns."""

import numpy as np

from ops.arrays import Int64s
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences


class PatternIndex:
    """Finds the index of a pattern in `patterns [n]`, which are all distinct.

    >>> PatternIndex(Sequences.from_lists([[1, 2], [3]])).find(Sequences.from_lists([[3], [1], [1, 2]])).tolist()
    [1, -1, 0]
    """

    def __init__(self, patterns: Sequences) -> None:
        self._trie = SequenceTrie.build(patterns)
        self._place = np.full(self._trie.label.size, -1, np.int64)
        self._place[self._trie.node_of] = np.arange(len(patterns))

    def find(self, patterns: Sequences) -> Int64s:
        """Return each pattern's index, -1 if it is not found, `[patterns]`."""
        node = self._trie.find(patterns)
        return np.where(node < 0, -1, self._place[node])
