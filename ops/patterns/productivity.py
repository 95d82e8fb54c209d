"""Which patterns are more informative than the shorter ones that they contain."""

import numpy as np

from ops.arrays import Bools, Float64s, Int64s, places_among
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees


def productive_sequences(patterns: Sequences, lift: Float64s, productivity: float, sets: Sequences) -> Bools:
    """Return which patterns of sets have at least `productivity` times the lift of each pattern one item shorter.

    The shorter patterns are those obtained by removing one item, if the same set has them too. Without a baseline the
    lift is NaN, and nothing is filtered. The result is `[n]` bool.

    Args:
        patterns: the patterns, all distinct, `[patterns]`.
        lift: the lift of each item of `sets`, `[n]`.
        productivity: the factor; 0 keeps all patterns.
        sets: the patterns of each set, as indices into `patterns`, `[n]` in total.

    >>> found = Sequences.from_lists([[1], [2], [1, 2], [2, 1]])
    >>> productive_sequences(found, np.array([2.0, 1.0, 2.05, 2.5]), 1.05, Sequences.of_all(4)).tolist()
    [True, True, False, True]
    """
    return _productive(patterns, *_without_one_item(patterns), lift, productivity, sets)


def productive_subtrees(subtrees: Subtrees, lift: Float64s, productivity: float, sets: Sequences) -> Bools:
    """Return which subtrees are productive in the same sense.

    A shorter subtree lacks one leaf, or the root if the root has a single child.
    """
    n_labels = int(subtrees.label.max(initial=0)) + 1
    shorter, owner = _without_one_node(subtrees)
    return _productive(subtrees.extensions(n_labels), shorter.extensions(n_labels), owner, lift, productivity, sets)


def _productive(
    patterns: Sequences, shorter: Sequences, owner: Int64s, lift: Float64s, productivity: float, sets: Sequences
) -> Bools:
    index = SequenceTrie.build(patterns).find(shorter)
    offsets = np.searchsorted(owner[index >= 0], np.arange(len(patterns) + 1))
    others = Sequences(index[index >= 0].astype(np.int32), offsets).take(sets.items)
    # Sets and patterns as one number, of which each entry compares its own with those of its shorter patterns.
    first = np.repeat(np.arange(len(sets)) * len(patterns), sets.lengths)
    order = np.argsort(first + sets.items)
    entry = np.repeat(np.arange(len(lift)), others.lengths)
    other, is_there = places_among((first + sets.items)[order], first[entry] + others.items)
    entry = entry[is_there]
    keep = np.ones(len(lift), np.bool_)
    keep[entry[lift[entry] < productivity * lift[order[other]]]] = False
    return keep


def _without_one_item(patterns: Sequences) -> tuple[Sequences, Int64s]:
    """Return patterns of at least two items with each item removed in turn, and the index of the original pattern."""
    owner = np.repeat(np.arange(len(patterns)), np.where(patterns.lengths > 1, patterns.lengths, 0))
    copies = patterns.take(owner)
    # A pattern's copies are consecutive: the n-th one loses its n-th item.
    place = np.arange(copies.items.size) - np.repeat(copies.offsets[:-1], copies.lengths)
    lost = np.arange(owner.size) - np.searchsorted(owner, owner)
    return copies.where(place != np.repeat(lost, copies.lengths)), owner


def _without_one_node(subtrees: Subtrees) -> tuple[Subtrees, Int64s]:
    """Return subtrees without each leaf, or without a root with one child, and the index of the original subtree."""
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
    # If the root is removed, every other node is one level higher.
    depths = Sequences((copies.depth - (lost == 0)).astype(np.int32), copies.offsets).where(keep)
    shorter = Subtrees(labels.items, depths.items, labels.offsets)
    return shorter.take(np.flatnonzero(removable)), owner[removable]
