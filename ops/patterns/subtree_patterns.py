"""Subtrees as patterns: labels and depths in preorder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from ops.arrays import Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.forest import Forest
from ops.patterns.sequences import Sequences


@dataclass(frozen=True)
class Subtrees:
    """Concatenated subtrees in preorder.

    `label int32 [n_nodes]` is the code of each node's label, from 0. `depth int32 [n_nodes]` is each node's depth, 0
    for the root. Subtree i has the nodes `offsets[i]` to `offsets[i + 1] - 1` (`offsets int64 [n_subtrees + 1]`).
    """

    label: Int32s
    depth: Int32s
    offsets: Int64s

    @classmethod
    def from_lists(cls, subtrees: Iterable[Sequence[tuple[int, int]]]) -> Self:
        """Return the subtrees that are given as lists of (depth, label)."""
        rows = [list(row) for row in subtrees]
        labels = Sequences.from_lists([[label for _, label in row] for row in rows])
        depths = Sequences.from_lists([[depth for depth, _ in row] for row in rows])
        return cls(labels.items, depths.items, labels.offsets)

    @classmethod
    def from_extensions(cls, extensions: Sequences, n_labels: int) -> Self:
        """Return the subtrees that `extensions(n_labels)` describes."""
        steps, label = np.divmod(extensions.items, np.int32(n_labels))
        # A node's depth is that of the previous node plus 1 minus the steps back. At a root, the depth that the
        # previous subtree has reached is subtracted.
        down = np.cumsum(np.concatenate(([0], 1 - steps.astype(np.int64))))[1:]
        depth = down - np.repeat(down[extensions.offsets[:-1]], extensions.lengths)
        return cls(label.astype(np.int32), depth.astype(np.int32), extensions.offsets)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def take(self, rows: Int64s) -> Self:
        """Return the subtrees with these indices, in the order given."""
        labels = Sequences(self.label, self.offsets).take(rows)
        return type(self)(labels.items, Sequences(self.depth, self.offsets).take(rows).items, labels.offsets)

    def extensions(self, n_labels: int) -> Sequences:
        """Return each subtree as the steps that build it: `steps * n_labels + label` for each node.

        `steps` is the number of levels to go back up from the previous node before a child is added. 0 adds the child
        below the previous node, and 1 adds it as the next sibling (rightmost extension, Asai et al. 2002). The root has
        no steps.
        """
        before = np.concatenate((np.zeros(1, np.int32), self.depth[:-1]))
        steps = before + 1 - self.depth
        starts = self.offsets[:-1][np.diff(self.offsets) > 0]
        steps[starts] = 0
        return Sequences((steps * n_labels + self.label).astype(np.int32), self.offsets)

    def as_forest(self) -> Forest:
        """Return the subtrees as trees."""
        return Forest(self.label, _sizes(self.depth, self.offsets), self.offsets)

    def strings(self, labels: Sequence[str]) -> list[str]:
        """Return each subtree as a bracketed string; `labels[code]` is the name of a node.

        >>> Subtrees.from_lists([[(0, 0), (1, 0), (1, 1), (2, 2)]]).strings(["NP", "PP", "IN"])
        ['(NP (NP) (PP (IN)))']
        """
        # Each node is preceded by the brackets that are closed before it.
        before = np.concatenate((np.zeros(1, np.int32), self.depth[:-1]))
        closing = np.where(self.depth > 0, before + 1 - self.depth, 0)
        opened = zip(closing.tolist(), self.label.tolist(), strict=True)
        pieces, depths = [f"{')' * closed} ({labels[code]}" for closed, code in opened], self.depth.tolist()
        return [
            "".join(pieces[start:stop])[1:] + ")" * (depths[stop - 1] + 1) if stop > start else ""
            for start, stop in pairwise(self.offsets.tolist())
        ]


@compiled
def _sizes(depth: Int32s, offsets: Int64s) -> Int32s:
    """Return the number of nodes below and including each node, `[n_nodes] int32`."""
    size = np.ones(depth.size, np.int32)
    open_nodes = np.zeros(depth.size + 1, np.int64)
    for subtree in range(offsets.size - 1):
        end, opened = offsets[subtree + 1], 0
        for node in range(offsets[subtree], end):
            while opened > depth[node]:
                opened -= 1
                size[open_nodes[opened]] = node - open_nodes[opened]
            open_nodes[opened] = node
            opened += 1
        while opened:
            opened -= 1
            size[open_nodes[opened]] = end - open_nodes[opened]
    return size
