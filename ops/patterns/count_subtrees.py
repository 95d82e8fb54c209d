"""Counts given subtrees in a forest, by one search along their trie instead of a pass for each subtree."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.forest import Forest, link, pair_support
from ops.patterns.mined import longer
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.subtree_patterns import Subtrees

# Trees searched at once: their nodes and matches stay in the processor's cache.
CHUNK = 1024


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
        return cls(trie, code, pair_support(subtrees.as_forest(), n_labels) > 0)


def count(forest: Forest, subtrees: SubtreeTrie) -> Int64s:
    """Return the number of trees that contain each subtree, `[n_subtrees] int64`.

    The rule is that of `mine_subtrees.mine_sets`.

    >>> trees = Subtrees.from_lists([[(0, 0), (1, 0), (2, 1)], [(0, 0), (1, 1)]])
    >>> count(trees.as_forest(), SubtreeTrie.build(Subtrees.from_lists([[(0, 0), (1, 1)]]))).tolist()
    [2]
    """
    return _run(forest, subtrees, record=False)[0]


def occurrences(forest: Forest, subtrees: SubtreeTrie) -> Occurrences:
    """Return which of the trees contain each subtree, under the same rule as `count`."""
    return Occurrences.gather(*_run(forest, subtrees, record=True))


def _run(forest: Forest, subtrees: SubtreeTrie, record: bool) -> tuple[Int64s, list[tuple[Int32s, Int32s]], Int32s]:
    trie = subtrees.trie
    support = np.zeros(trie.label.size, np.int64)
    recorded = trie.is_end if record else np.zeros(trie.label.size, bool)
    pairs = []
    for first in range(0, len(forest), CHUNK):
        offsets = forest.offsets[first : first + CHUNK + 1]
        nodes = slice(offsets[0], offsets[-1])
        part = Forest(forest.label[nodes], forest.size[nodes], offsets - offsets[0])
        node, tree = _search(
            *link(part, subtrees.allowed), part.offsets, subtrees.code, trie.first_child, subtrees.allowed.shape[0],
            trie.depth, recorded, support,
        )  # fmt: skip
        pairs.append((node, tree + np.int32(first)))
    return support[trie.node_of], pairs, trie.node_of


@compiled
def _search(
    links: Int32s, tree_of: Int32s, offsets: Int64s, code_of: Int32s, first_child: Int32s, n_labels: int,
    max_nodes: int, recorded: Bools, support: Int64s,
) -> tuple[Int32s, Int32s]:  # fmt: skip
    """Add each trie node's number of trees to `support [n_nodes]`, and return the pairs of `recorded` nodes and trees.

    Matches, steps and stamps are those of the search in `ops.patterns.mine_subtrees`.
    """
    child_of = np.full(n_labels * max(max_nodes, 1), -1, np.int32)
    last, count = np.full(code_of.size, -1, np.int32), np.zeros(code_of.size, np.int64)
    next_free = np.zeros(code_of.size, np.int64)
    longest = 0
    for tree in range(offsets.size - 1):
        longest = max(longest, offsets[tree + 1] - offsets[tree])
    stamps = np.zeros(longest * max(max_nodes, 1), np.int64)
    # No pattern has more matches to visit than this, so no array needs to grow inside the loops.
    most = tree_of.size * max(max_nodes, 1)
    hit, hit_state, places = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(1024, np.int32)
    pair_node, pair_tree, pairs = np.empty(1024, np.int32), np.empty(1024, np.int32), 0
    pending = [(0, 0, 0, tree_of.size)]
    stamp = 0
    while pending:
        state, depth, begin, end = pending.pop()
        furthest = 0
        for following in range(first_child[state], first_child[state + 1]):
            child_of[code_of[following]] = following
            furthest = max(furthest, code_of[following] // n_labels)
        if pairs + most > pair_node.size:
            pair_node, pair_tree = longer(pair_node, pairs + most), longer(pair_tree, pairs + most)
        hits, tree, tree_begin, tree_end = 0, 0, 0, 0
        for entry in range(begin, end):
            node = np.int64(entry if state == 0 else places[entry])
            if node >= tree_end:
                tree = tree_of[node]
                tree_begin, tree_end = offsets[tree], offsets[tree + 1]
                stamp += 1
            child = node if state == 0 else np.int64(links[node, 2])
            for steps in range(furthest + 1):
                visit = (node - tree_begin) * max_nodes + steps
                if stamps[visit] != stamp:
                    stamps[visit] = stamp
                    while child >= 0:
                        code = links[child, 0]
                        following = child_of[steps * n_labels + code] if code >= 0 else -1
                        if following >= 0:
                            if last[following] != tree:
                                last[following] = tree
                                support[following] += 1
                                if recorded[following]:
                                    pair_node[pairs], pair_tree[pairs] = following, tree
                                    pairs += 1
                            if first_child[following + 1] > first_child[following]:
                                hit[hits], hit_state[hits] = child, following
                                count[following] += 1
                                hits += 1
                        child = np.int64(links[child, 3]) if state else np.int64(-1)
                child, node = np.int64(links[node, 3]), np.int64(links[node, 1])
        free = end if state else 0
        if free + hits > places.size:
            places = longer(places, free + hits)
        for following in range(first_child[state], first_child[state + 1]):
            child_of[code_of[following]] = -1
            next_free[following] = free
            if count[following]:
                below = 0 if state == 0 else depth + 1 - code_of[following] // n_labels
                pending.append((following, below, free, free + count[following]))
                free += count[following]
                count[following] = 0
        for index in range(hits):
            places[next_free[hit_state[index]]] = hit[index]
            next_free[hit_state[index]] += 1
    return pair_node[:pairs].copy(), pair_tree[:pairs].copy()
