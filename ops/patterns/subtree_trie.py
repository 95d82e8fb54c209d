"""The trie of candidate subtrees, as flat arrays."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Bools, Int32s
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.subtree_patterns import Subtrees
from ops.patterns.tree_links import pair_support


@dataclass(frozen=True)
class SubtreeTrie:
    """The trie of subtrees as extensions: `code int32 [n_nodes]` is a node's `steps * n_labels + label`.

    `allowed bool [n_labels (parent), n_labels (child)]` marks the pairs of labels that are parent and child in any of
    the subtrees.
    """

    trie: SequenceTrie
    code: Int32s
    allowed: Bools

    @classmethod
    def build(cls, subtrees: Subtrees) -> Self:
        """Return the trie of the subtrees; raise ValueError if a subtree has no node."""
        n_labels = int(subtrees.label.max(initial=0)) + 1
        trie = SequenceTrie.build(subtrees.extensions(n_labels))
        code = np.full(trie.label.size, -1, np.int32)
        code[1:] = trie.alphabet[trie.label[1:]]
        forest = subtrees.as_forest()
        return cls(trie, code, pair_support(forest, n_labels) > 0)
