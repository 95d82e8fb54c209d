"""What the miners find in all sentences or trees together."""

from collections.abc import Callable, Sized

import numpy as np

from ops.arrays import Int64s
from ops.patterns import mine_sequences, mine_subtrees
from ops.patterns.forest import Forest
from ops.patterns.mined import NEVER, Mined
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees


def mine(sequences: Sequences, least: int, max_length: int, max_gap: int = -1) -> tuple[Sequences, Int64s]:
    """Return the patterns of all sequences, and their supports.

    >>> patterns, support = mine(Sequences.from_lists([[0, 1, 2], [0, 2]]), 2, 2)
    >>> patterns.to_lists(), support.tolist()
    ([[0], [2], [0, 2]], [2, 2, 2])
    """
    mined = _mined(mine_sequences.mine_sets, sequences, least, max_length, max_gap)
    return mined.patterns, mined.counts["support"]


def mine_trees(forest: Forest, least: int, max_nodes: int) -> tuple[Subtrees, Int64s]:
    """Return the subtrees of all trees, and their supports."""
    n_labels = int(forest.label.max(initial=0)) + 1
    mined = _mined(mine_subtrees.mine_sets, forest, least, max_nodes, n_labels)
    return Subtrees.from_extensions(mined.patterns, n_labels), mined.counts["support"]


def _mined(mine_sets: Callable[..., Mined], sentences: Sized, least: int, *limits: int) -> Mined:
    """Mine all sentences as one set, without marks and documents."""
    n = len(sentences)
    nowhere, one = np.zeros(n, np.uint8), np.zeros(n, np.int32)
    return mine_sets(sentences, Sequences.of_all(n), np.array([[least, NEVER, NEVER]]), *limits, nowhere, one)


def to_lists(subtrees: Subtrees) -> list[list[tuple[int, int]]]:
    """Return each subtree as a list of (depth, label)."""
    labels, depths = (Sequences(items, subtrees.offsets).to_lists() for items in (subtrees.label, subtrees.depth))
    return [list(zip(depth, label, strict=True)) for depth, label in zip(depths, labels, strict=True)]
