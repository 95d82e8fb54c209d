"""Constituency trees without words and punctuation, as flat arrays from which subtrees are mined."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.errors import InputError
from ops.patterns.sequences import Sequences
from ops.penn import ROOT, read_labels_and_sizes


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

    @classmethod
    def from_trees(cls, trees: Iterable[tuple[list[str], list[int]]], codes: Mapping[str, int]) -> Self:
        """Return the forest of trees that are each given as labels and sizes in preorder.

        `codes` maps each label to its code.
        """
        labels: list[int] = []
        sizes: list[int] = []
        lengths = [0]
        for names, below in trees:
            labels.extend(codes[name] for name in names)
            sizes.extend(below)
            lengths.append(len(names))
        return cls(np.array(labels, np.int32), np.array(sizes, np.int32), np.cumsum(lengths, dtype=np.int64))

    def __len__(self) -> int:
        return self.offsets.size - 1

    def take(self, rows: ArrayLike) -> Self:
        """Return some trees, selected by indices, whose order is kept, or by one bool for each tree."""
        labels = Sequences(self.label, self.offsets).take(rows)
        return type(self)(labels.items, Sequences(self.size, self.offsets).take(rows).items, labels.offsets)


def read_forest(texts: Iterable[str]) -> tuple[Forest, list[str]]:
    """Return the forest of bracketed strings, and its labels in the order of their codes, sorted by name.

    An empty string becomes an empty tree. Raises InputError, naming the row, if a string is not one tree.

    >>> forest, labels = read_forest(["(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))"])
    >>> [labels[code] for code in forest.label], forest.size.tolist()
    (['ROOT', 'S', 'NP', 'PRP', 'VP', 'VBP'], [6, 5, 2, 1, 2, 1])
    """
    trees = []
    for row, text in enumerate(texts):
        try:
            trees.append(read_labels_and_sizes(text))
        except InputError as error:
            raise InputError(f"row {row}: {error}") from None
    names = sorted({label for labels, _ in trees for label in labels})
    return Forest.from_trees(trees, {name: code for code, name in enumerate(names)}), names


def collapse_root(forest: Forest, labels: Sequence[str]) -> Forest:
    """Return the trees with every S directly under their ROOT merged into it, as Oba 2021 prints subtrees.

    `labels[code]` names the nodes. A tree whose top is not ROOT stays as it is.

    >>> forest, labels = read_forest(["(ROOT (S (NP (PRP I)) (VP (VBP sleep))))"])
    >>> [labels[code] for code in collapse_root(forest, labels).label]
    ['ROOT', 'NP', 'PRP', 'VP', 'VBP']
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
