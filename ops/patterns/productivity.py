"""Which patterns say more than the shorter ones that they contain."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees


def productive_sequences(patterns: Sequences, lift: ArrayLike, productivity: float = 1.05) -> NDArray[np.bool_]:
    """Return which patterns have at least `productivity` times the lift of each pattern one item shorter.

    The shorter patterns are those that leaving one item out results in and that are themselves among
    `patterns [n]`, which all differ; `lift [n]` is null (NaN) where there is no baseline, and then nothing is left
    out. 0 keeps all.

    >>> found = Sequences.from_lists([[1], [2], [1, 2], [2, 1]])
    >>> productive_sequences(found, [2.0, 1.0, 2.05, 2.5]).tolist()
    [True, True, False, True]
    """
    shorter, owner = _without_one_item(patterns)
    return _productive(patterns, shorter, owner, lift, productivity)


def productive_subtrees(subtrees: Subtrees, lift: ArrayLike, productivity: float = 1.05) -> NDArray[np.bool_]:
    """Return the same for subtrees: shorter by a leaf, or by the root where that has a single child."""
    n_labels = int(subtrees.label.max(initial=0)) + 1
    shorter, owner = _without_one_node(subtrees)
    return _productive(subtrees.extensions(n_labels), shorter.extensions(n_labels), owner, lift, productivity)


def _productive(
    patterns: Sequences, shorter: Sequences, owner: NDArray[np.int64], lift: ArrayLike, productivity: float
) -> NDArray[np.bool_]:
    lifts = np.asarray(lift, dtype=np.float64)
    trie = SequenceTrie.build(patterns)
    pattern_at = np.full(trie.label.size, -1, np.int64)
    pattern_at[trie.node_of] = np.arange(len(patterns))
    node = trie.find(shorter)
    known = node >= 0
    known[known] = pattern_at[node[known]] >= 0
    short = pattern_at[node[known]]
    kept = np.ones(len(patterns), bool)
    kept[owner[known][lifts[owner[known]] < productivity * lifts[short]]] = False
    return kept


def _without_one_item(patterns: Sequences) -> tuple[Sequences, NDArray[np.int64]]:
    """Return patterns of at least two items with each item left out in turn, and whose it was."""
    owner = np.repeat(np.arange(len(patterns)), np.where(patterns.lengths > 1, patterns.lengths, 0))
    copies = patterns.take(owner)
    # A pattern's copies follow each other: the n-th one loses its n-th item.
    place = np.arange(copies.items.size) - np.repeat(copies.offsets[:-1], copies.lengths)
    lost = np.arange(owner.size) - np.searchsorted(owner, owner)
    return copies.where(place != np.repeat(lost, copies.lengths)), owner


def _without_one_node(subtrees: Subtrees) -> tuple[Subtrees, NDArray[np.int64]]:
    """Return subtrees with each leaf, and a root that has one child, left out in turn, and whose it was."""
    n_nodes = np.diff(subtrees.offsets)
    several = np.flatnonzero(n_nodes > 1)
    owner = np.repeat(several, n_nodes[several])
    copies = subtrees.take(owner)
    lengths = np.diff(copies.offsets)
    place = np.arange(copies.label.size) - np.repeat(copies.offsets[:-1], lengths)
    lost = np.repeat(np.arange(owner.size) - np.searchsorted(owner, owner), lengths)
    below = np.concatenate((copies.depth[1:], np.zeros(1, np.int32))) > copies.depth
    copy_of = np.repeat(np.arange(owner.size), lengths)
    children_of_root = np.bincount(copy_of, weights=copies.depth == 1, minlength=owner.size)
    is_lost = place == lost
    removable = ~below[is_lost] | ((lost[is_lost] == 0) & (children_of_root == 1))
    keep = ~is_lost & removable[copy_of]
    labels = Sequences(copies.label, copies.offsets).where(keep)
    # Without the root every other node is one level higher.
    depths = Sequences((copies.depth - (lost == 0)).astype(np.int32), copies.offsets).where(keep)
    shorter = Subtrees(labels.items, depths.items, labels.offsets)
    return shorter.take(np.flatnonzero(removable)), owner[removable]
