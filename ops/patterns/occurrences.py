"""Which sentences contain which pattern."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.sequences import Sequences


@dataclass(frozen=True)
class Occurrences:
    """The sentences that contain each pattern: pattern i is in `sentences[offsets[i]:offsets[i + 1]]`, ascending.

    `sentences int32 [n_pairs]` are indices of the searched sentences. `offsets` is `int64 [n_patterns + 1]`.
    """

    sentences: Int32s
    offsets: Int64s

    @classmethod
    def gather(cls, support: Int64s, pairs: Sequence[tuple[Int32s, Int32s]], node_of: Int32s) -> Self:
        """Return the occurrences of patterns, given pairs of a trie's node and a sentence.

        The pairs are given in parts, and the sentences of a node ascend from part to part. `support [n_patterns]` is
        the number of pairs of each pattern, and `node_of [n_patterns]` is the node at which the pattern ends.
        """
        by_node = np.zeros(int(node_of.max(initial=0)) + 1, np.int64)
        by_node[node_of] = support
        offsets = np.concatenate(([0], np.cumsum(by_node)))
        sentences, free = np.empty(offsets[-1], np.int32), offsets[:-1].copy()
        for node, sentence in pairs:
            _scatter(node, sentence, free, sentences)
        chosen = Sequences(sentences, offsets).take(node_of)
        return cls(chosen.items, chosen.offsets)


@compiled
def _scatter(node: Int32s, sentence: Int32s, free: Int64s, sentences: Int32s) -> None:
    for pair in range(node.size):
        sentences[free[node[pair]]] = sentence[pair]
        free[node[pair]] += 1
