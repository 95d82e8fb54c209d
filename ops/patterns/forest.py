"""Constituency trees without words and punctuation, as flat arrays, and links for the searches that grow subtrees."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.sequences import Sequences
from ops.penn import ROOT


@dataclass(frozen=True)
class Forest:
    """Concatenated trees in preorder.

    `label int32 [n_nodes]` is the code of each node's label. Tree i has the nodes `offsets[i]` to `offsets[i + 1] - 1`
    (`offsets int64 [n_trees + 1]`); a tree may be empty. `size int32 [n_nodes]` is the number of nodes in the subtree
    below and including a node. The first child of node v is v + 1 if `size[v] > 1`. Its next sibling is v + size[v] if
    that node is still below their parent.
    """

    label: Int32s
    size: Int32s
    offsets: Int64s

    def __post_init__(self) -> None:
        ends = self.offsets[[0, -1]].tolist() if self.offsets.size else []
        if not (ends == [0, self.label.size] and self.label.size == self.size.size):
            raise ValueError("forest: labels and sizes must be as many as the last offset says")

    def __len__(self) -> int:
        return self.offsets.size - 1

    def take(self, rows: Int32s) -> "Forest":
        """Return the trees with these indices, in the order given."""
        labels = Sequences(self.label, self.offsets).take(rows)
        return Forest(labels.items, Sequences(self.size, self.offsets).take(rows).items, labels.offsets)


def collapse_root(forest: Forest, labels: Sequence[str]) -> Forest:
    """Return the trees with every S directly under their ROOT merged into it, as Oba 2021 prints subtrees.

    `labels[code]` names the nodes. A tree whose top is not ROOT stays as it is.

    >>> forest = Forest(np.array([0, 1, 2, 3]), np.array([4, 3, 1, 1]), np.array([0, 4]))
    >>> collapse_root(forest, ["ROOT", "S", "NP", "VP"]).label.tolist()
    [0, 2, 3]
    """
    if ROOT not in labels or "S" not in labels:
        return forest
    keep, size = _collapsed(forest.label, forest.size, forest.offsets, labels.index(ROOT), labels.index("S"))
    kept = Sequences(forest.label, forest.offsets).where(keep)
    return Forest(kept.items, size[keep], kept.offsets)


@compiled
def _collapsed(label: Int32s, size: Int32s, offsets: Int64s, root: int, clause: int) -> tuple[Bools, Int32s]:
    keep = np.ones(label.size, np.bool_)
    sizes = size.copy()
    for tree in range(offsets.size - 1):
        top = offsets[tree]
        if top == offsets[tree + 1] or label[top] != root:
            continue
        child = top + 1
        while child < top + size[top]:
            if label[child] == clause:
                keep[child] = False
                sizes[top] -= 1
            child += size[child]
    return keep, sizes


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
