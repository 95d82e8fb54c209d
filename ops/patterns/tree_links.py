"""Links between the nodes of a forest, for the searches that grow subtrees."""

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.forest import Forest


def pair_support(forest: Forest, n_labels: int) -> Int64s:
    """Return the number of trees in which a label is directly below another, `[n_labels (parent), n_labels] int64`."""
    return _pair_support(forest.label, forest.size, forest.offsets, n_labels)


def link(forest: Forest, allowed: Bools) -> tuple[Int32s, Int32s]:
    """Return each node's label, parent, first child and next sibling, `int32 [n_nodes, 4]`, and its tree.

    -1 means that there is no such node. `allowed bool [n_labels (parent), n_labels (child)]` marks the allowed pairs of
    a parent's label and a child's label. A node in a pair that is not allowed is skipped as first child and as next
    sibling, so it can only be the root of a subtree. A node whose label is not below `n_labels` gets the label -1.
    """
    return _link(forest.label, forest.size, forest.offsets, allowed)


@compiled
def _pair_support(label: Int32s, size: Int32s, offsets: Int64s, n_labels: int) -> Int64s:
    last, support = np.full((n_labels, n_labels), -1, np.int64), np.zeros((n_labels, n_labels), np.int64)
    parent = np.empty(label.size, np.int32)
    for tree in range(offsets.size - 1):
        above = -1
        for node in range(offsets[tree], offsets[tree + 1]):
            while above >= 0 and above + size[above] <= node:
                above = parent[above]
            parent[node] = above
            if above >= 0 and last[label[above], label[node]] != tree:
                last[label[above], label[node]] = tree
                support[label[above], label[node]] += 1
            above = node
    return support


@compiled
def _link(label: Int32s, size: Int32s, offsets: Int64s, allowed: Bools) -> tuple[Int32s, Int32s]:
    links, tree_of = np.full((label.size, 4), -1, np.int32), np.empty(label.size, np.int32)
    for tree in range(offsets.size - 1):
        above = -1
        for node in range(offsets[tree], offsets[tree + 1]):
            while above >= 0 and above + size[above] <= node:
                above = links[above, 1]
            tree_of[node] = tree
            links[node, 1] = above
            if label[node] < allowed.shape[0]:
                links[node, 0] = label[node]
            above = node
    # Nodes are visited backwards, so that a list of children starts with the first child.
    for node in range(label.size - 1, -1, -1):
        above = links[node, 1]
        known = above >= 0 and links[node, 0] >= 0 and links[above, 0] >= 0
        if known and allowed[links[above, 0], links[node, 0]]:
            links[node, 3] = links[above, 2]
            links[above, 2] = node
    return links, tree_of
