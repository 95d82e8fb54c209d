"""Mines frequent subtrees of a forest, by rightmost extension on flat arrays."""

import numpy as np

from ops.arrays import Int32s, Int64s, UInt8s
from ops.compiled import compiled
from ops.patterns.forest import Forest, link, pair_support
from ops.patterns.mined import (
    COLUMNS,
    GROWN,
    KEPT,
    SEEN,
    SUPPORT,
    Mined,
    by_document,
    count_once,
    document_sizes,
    is_frequent,
    longer,
)
from ops.patterns.sequences import Sequences


def mine_sets(
    forest: Forest, sets: Sequences, min_support: Int64s, max_nodes: int, n_labels: int, marks: UInt8s,
    documents: Int32s,
) -> Mined:  # fmt: skip
    """Return every frequent subtree of the trees of each set, as `Subtrees.extensions(n_labels)`.

    Subtrees are induced and ordered: a subtree preserves parents and children and the order of siblings, but siblings
    need not be adjacent in the tree. Support is the number of trees that contain the subtree. The order of the result
    is always the same. The algorithm is FREQT (Asai et al. 2002).

    Args:
        forest: the trees of all sets.
        sets, min_support, marks, documents: the arguments of `mine_sequences.mine_sets`, for trees as sentences.
        max_nodes: maximum number of nodes of a subtree; it has at least two. One above the size of the largest tree
            changes nothing and costs no memory.
        n_labels: number of labels; the code of every label is below it.

    Raises ValueError if a minimum is below 1 or the maximum below 2.
    """
    if min_support.min(initial=1) < 1 or max_nodes < 2:
        raise ValueError("subtrees: the minimum support must be at least 1, the maximum of nodes at least 2")
    members = by_document(sets, documents)
    parts = []
    for first, stop, least in zip(sets.offsets[:-1], sets.offsets[1:], min_support, strict=True):
        rows = members[first:stop]
        trees = forest.take(rows)
        links, tree_of = link(trees, pair_support(trees, n_labels) >= least.min())
        most = min(max_nodes, int(np.diff(trees.offsets).max(initial=2)))
        sizes = document_sizes(documents[rows])
        parts.append(_mine(links, tree_of, trees.offsets, marks[rows], documents[rows], sizes, n_labels, least, most))
    grown = Mined.grown(parts)
    return grown.where(grown.patterns.lengths > 1)


@compiled
def _mine(
    links: Int32s, tree_of: Int32s, offsets: Int64s, marks: UInt8s, documents: Int32s, document_size: Int64s,
    n_labels: int, least: Int64s, max_nodes: int,
) -> Int64s:  # fmt: skip
    """Grow patterns by one node at a time, and return what `Mined.grown` takes.

    A pattern's matches are the positions of its last node, sorted by tree. A document's trees must be consecutive. A
    code stands for two numbers: the steps back up from the last node, and the label of the new node.

    Several matches can share the node below which a new child is added. The first of these matches has the leftmost
    child there, so the later siblings of this child include those of the other matches. It is therefore enough to visit
    each pair of steps and node once for each pattern and tree. The steps are part of the pair, because a node can be
    both a parent and a grandparent of matches if a label recurs.
    """
    n_codes = n_labels * max_nodes
    counts = np.zeros((n_codes, COLUMNS), np.int64)
    count, next_free = np.zeros(n_codes, np.int64), np.zeros(n_codes, np.int64)
    touched = np.empty(n_codes, np.int64)
    longest = 0
    for tree in range(offsets.size - 1):
        longest = max(longest, offsets[tree + 1] - offsets[tree])
    stamps = np.zeros(longest * max_nodes, np.int64)
    # No pattern has more matches to visit than this, so no array needs to grow inside the loops.
    most = tree_of.size * max_nodes
    hit, hit_code, positions = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(1024, np.int32)
    grown, n_grown, stamp, document_stamp = np.empty((1024, GROWN), np.int64), 0, 0, 0
    pending = [(-1, 0, 0, 0, tree_of.size)]
    while pending:
        pattern, nodes, depth, begin, end = pending.pop()
        deepest = nodes + 1 == max_nodes
        n_touched, hits, tree_begin, tree_end, document, mark, trees = 0, 0, 0, 0, -1, 0, 0
        for entry in range(begin, end):
            node = np.int64(entry if pattern < 0 else positions[entry])
            if node >= tree_end:
                tree = tree_of[node]
                tree_begin, tree_end = offsets[tree], offsets[tree + 1]
                stamp += 1
                mark = int(marks[tree])
                if documents[tree] != document:
                    document, trees = documents[tree], document_size[tree]
                    document_stamp += 1
            child = node if pattern < 0 else np.int64(links[node, 2])
            for steps in range(depth + 1):
                visit = (node - tree_begin) * max_nodes + steps
                if stamps[visit] != stamp:
                    stamps[visit] = stamp
                    while child >= 0:
                        code = steps * n_labels + links[child, 0]
                        if counts[code, SEEN] != stamp:
                            counts[code, SEEN] = stamp
                            if counts[code, SUPPORT] == 0:
                                touched[n_touched] = code
                                n_touched += 1
                            count_once(counts, code, mark, document_stamp, trees)
                        if not deepest:
                            hit[hits], hit_code[hits] = child, code
                            count[code] += 1
                            hits += 1
                        child = np.int64(links[child, 3]) if pattern >= 0 else np.int64(-1)
                child, node = np.int64(links[node, 3]), np.int64(links[node, 1])
        free = end if pattern >= 0 else 0
        if free + hits > positions.size:
            positions = longer(positions, free + hits)
        if n_grown + n_touched > len(grown):
            grown = longer(grown, n_grown + n_touched)
        for code in np.sort(touched[:n_touched]):
            if is_frequent(counts, code, least):
                grown[n_grown, 0], grown[n_grown, 1] = pattern, code
                grown[n_grown, 2:] = counts[code, :KEPT]
                if not deepest:
                    below = 0 if pattern < 0 else depth + 1 - code // n_labels
                    pending.append((n_grown, nodes + 1, below, free, free + count[code]))
                    next_free[code] = free
                    free += count[code]
                n_grown += 1
            else:
                next_free[code] = -1
            counts[code, :KEPT] = 0
            count[code] = 0
        for index in range(hits):
            code = hit_code[index]
            if next_free[code] >= 0:
                positions[next_free[code]] = hit[index]
                next_free[code] += 1
    return grown[:n_grown].copy()
