"""Frequent subtrees of a forest, by rightmost extension on flat arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.compiled import compiled
from ops.patterns.forest import Forest
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees
from ops.patterns.tree_links import link, pair_support

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


def mine(forest: Forest, min_support_count: int, max_nodes: int) -> tuple[Subtrees, Longs]:
    """Return every frequent subtree of 2 to `max_nodes` nodes, and its support `[n_subtrees] int64`.

    A subtree keeps parent and child and the order of siblings, which need not be adjacent (induced and
    ordered); support is the number of trees that contain it, at least `min_support_count`. The order is the
    same on every run (FREQT, Asai et al. 2002).

    Raises ValueError where the minimum is below 1 or the maximum below 2.

    >>> from ops.patterns.forest import read_forest
    >>> texts = ["(NP (NP (NN snow)) (PP (IN in) (NP (NN May))))", "(NP (NN ice) (PP (IN on)))"]
    >>> forest, labels = read_forest(texts)
    >>> found, support = mine(forest, 2, 3)
    >>> found.strings(labels), support.tolist()
    (['(PP (IN))', '(NP (NN))', '(NP (PP))', '(NP (PP (IN)))'], [2, 2, 2, 2])
    """
    if min_support_count < 1 or max_nodes < 2:
        raise ValueError("subtrees: the minimum support must be at least 1, the maximum of nodes at least 2")
    n_labels = int(forest.label.max(initial=-1)) + 1
    links, tree_of = link(forest, pair_support(forest, n_labels) >= min_support_count)
    parent, code, support = _mine(links, tree_of, forest.offsets, n_labels, min_support_count, max_nodes)
    grown = Sequences.from_parents(parent, code)
    several = grown.lengths > 1
    return Subtrees.from_extensions(grown.take(several), n_labels), support[several]


@compiled
def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    result = np.empty(max(2 * array.size, size), array.dtype)
    result[: array.size] = array
    return result


@compiled
def _mine(
    links: Codes, tree_of: Codes, offsets: Longs, n_labels: int, min_support: int, max_nodes: int
) -> tuple[Longs, Longs, Longs]:
    """Grow patterns by a node at a time; a pattern's matches are the places of its last node, by tree.

    A code is (steps back up from the last node, label). Several matches can share the node that a new child
    goes below; the first comes with the leftmost child there, so its later siblings hold those of the
    others, and each (steps, node) is gone through once a pattern and tree. Steps belong to it: where a
    label recurs, one node can be both a parent and a grandparent of matches.
    """
    n_codes = n_labels * max_nodes
    last, support = np.zeros(n_codes, np.int64), np.zeros(n_codes, np.int64)
    count, next_free, touched = (
        np.zeros(n_codes, np.int64),
        np.zeros(n_codes, np.int64),
        np.empty(n_codes, np.int64),
    )
    longest = 0
    for tree in range(offsets.size - 1):
        longest = max(longest, offsets[tree + 1] - offsets[tree])
    stamps = np.zeros(longest * max_nodes, np.int64)
    # No pattern has more matches to visit than this, so that nothing need grow inside the loops.
    most = tree_of.size * max_nodes
    hit, hit_code, places = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(1024, np.int32)
    above, code_of, support_of = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    found, stamp = 0, 0
    pending = [(-1, 0, 0, 0, tree_of.size)]
    while pending:
        pattern, nodes, depth, begin, end = pending.pop()
        deepest = nodes + 1 == max_nodes
        n_touched, hits, tree_begin, tree_end = 0, 0, 0, 0
        for entry in range(begin, end):
            node = np.int64(entry if pattern < 0 else places[entry])
            if node >= tree_end:
                tree_begin, tree_end = offsets[tree_of[node]], offsets[tree_of[node] + 1]
                stamp += 1
            child = node if pattern < 0 else np.int64(links[node, 2])
            for steps in range(depth + 1):
                visit = (node - tree_begin) * max_nodes + steps
                if stamps[visit] != stamp:
                    stamps[visit] = stamp
                    while child >= 0:
                        code = steps * n_labels + links[child, 0]
                        if last[code] != stamp:
                            last[code] = stamp
                            if support[code] == 0:
                                touched[n_touched] = code
                                n_touched += 1
                            support[code] += 1
                        if not deepest:
                            hit[hits], hit_code[hits] = child, code
                            count[code] += 1
                            hits += 1
                        child = np.int64(links[child, 3]) if pattern >= 0 else np.int64(-1)
                child, node = np.int64(links[node, 3]), np.int64(links[node, 1])
        free = end if pattern >= 0 else 0
        if free + hits > places.size:
            places = _longer(places, free + hits)
        if found + n_touched > above.size:
            above, code_of = _longer(above, found + n_touched), _longer(code_of, found + n_touched)
            support_of = _longer(support_of, found + n_touched)
        for code in np.sort(touched[:n_touched]):
            if support[code] >= min_support:
                above[found], code_of[found], support_of[found] = pattern, code, support[code]
                if not deepest:
                    below = 0 if pattern < 0 else depth + 1 - code // n_labels
                    pending.append((found, nodes + 1, below, free, free + count[code]))
                    next_free[code] = free
                    free += count[code]
                found += 1
            else:
                next_free[code] = -1
            support[code], count[code] = 0, 0
        for index in range(hits):
            code = hit_code[index]
            if next_free[code] >= 0:
                places[next_free[code]] = hit[index]
                next_free[code] += 1
    return above[:found].copy(), code_of[:found].copy(), support_of[:found].copy()
