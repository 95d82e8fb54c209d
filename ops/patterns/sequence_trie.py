"""The trie of candidate patterns, as flat arrays."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.sequences import Sequences


@dataclass(frozen=True)
class SequenceTrie:
    """Patterns that share their prefixes: node 0 is the empty pattern, and nodes are ordered level by level.

    Attributes:
        label: each node's last item as a compact code, int32 `[n_nodes]`.
        first_child: the children of a node are the nodes `first_child[node]` to `first_child[node + 1] - 1`, int32
            `[n_nodes + 1]`.
        node_of: the node at which each pattern ends, int32 `[n_patterns]`.
        alphabet: the distinct items of all patterns, ascending, int32. Compact code i represents `alphabet[i]`.
        depth: the length of the longest pattern.
    """

    label: Int32s
    first_child: Int32s
    node_of: Int32s
    alphabet: Int32s
    depth: int

    @classmethod
    def build(cls, patterns: Sequences) -> "SequenceTrie":
        """Return the trie of the patterns; equal patterns end at the same node.

        Raises ValueError if a pattern is empty or has a negative item.
        """
        lengths = patterns.lengths
        if lengths.size and (lengths.min() < 1 or patterns.items.min() < 0):
            raise ValueError("patterns: a pattern needs at least one item, and items count from 0")
        alphabet, compact = np.unique(patterns.items, return_inverse=True)
        depth = int(lengths.max(initial=0))
        # The table has one row for each pattern, padded with -1. In the sorted table, new nodes begin where a row first
        # differs from the previous row.
        table = np.full((len(patterns), depth), -1, np.int32)
        table[np.arange(depth) < lengths[:, None]] = compact
        order = np.lexsort(table.T[::-1]) if depth else np.arange(0)
        table = table[order]
        labels = [np.array([-1], np.int32)]
        counts: list[Int64s] = []
        node = np.zeros(len(patterns), np.int64)
        differs = np.zeros(len(patterns), bool)
        level_start, level_size = 0, 1
        for column in table.T:
            differs[1:] |= column[1:] != column[:-1]
            differs[:1] = True
            is_item = column >= 0
            new = differs & is_item
            counts.append(np.bincount(node[new] - level_start, minlength=level_size))
            level_start, level_size = level_start + level_size, int(new.sum())
            node = np.where(is_item, level_start + np.cumsum(new) - 1, node)
            labels.append(column[new])
        counts.append(np.zeros(level_size, np.int64))
        node_of = np.empty(len(patterns), np.int32)
        node_of[order] = node
        first_child = 1 + np.concatenate(([0], np.cumsum(np.concatenate(counts))))
        return cls(np.concatenate(labels), first_child.astype(np.int32), node_of, alphabet.astype(np.int32), depth)

    @property
    def is_end(self) -> Bools:
        """Whether a pattern ends at each node, `[n_nodes] bool`."""
        ends = np.zeros(self.label.size, bool)
        ends[self.node_of] = True
        return ends

    def compact(self, items: Int32s) -> Int32s:
        """Return each item's compact code, -1 if no pattern contains the item, `[n_items] int32`."""
        return self._code_of[np.minimum(items, self._code_of.size - 1)]

    @cached_property
    def _code_of(self) -> Int32s:
        """The compact code of every item up to the largest one, followed by -1; it is computed once for all lookups."""
        codes = np.full(int(self.alphabet.max(initial=-1)) + 2, -1, np.int32)
        codes[self.alphabet] = np.arange(self.alphabet.size)
        return codes

    @cached_property
    def _pattern_at(self) -> Int64s:
        """The index of the pattern that ends at each node, or -1, `[n_nodes + 1]`; the last entry is -1."""
        patterns = np.full(self.label.size + 1, -1, np.int64)
        patterns[self.node_of] = np.arange(self.node_of.size)
        return patterns

    def find(self, patterns: Sequences) -> Int64s:
        """Return the index of each pattern among those of the trie, -1 if it is none of them, `[n]`.

        >>> trie = SequenceTrie.build(Sequences.from_lists([[1, 2], [3]]))
        >>> trie.find(Sequences.from_lists([[3], [1], [1, 2]])).tolist()
        [1, -1, 0]
        """
        return self._pattern_at[_find(self.compact(patterns.items), patterns.offsets, self.label, self.first_child)]


@compiled
def _find(codes: Int32s, offsets: Int64s, label: Int32s, first_child: Int32s) -> Int32s:
    result = np.empty(offsets.size - 1, np.int32)
    for pattern in range(offsets.size - 1):
        node = 0
        for place in range(offsets[pattern], offsets[pattern + 1]):
            start, stop = first_child[node], first_child[node + 1]
            child = start + np.searchsorted(label[start:stop], codes[place])
            if codes[place] < 0 or child == stop or label[child] != codes[place]:
                node = -1
                break
            node = child
        result[pattern] = node
    return result
