"""Constituency trees without words and punctuation, as flat arrays from which subtrees are mined."""

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
