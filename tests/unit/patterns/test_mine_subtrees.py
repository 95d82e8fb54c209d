from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.patterns import count_subtrees
from ops.patterns.forest import Forest
from ops.patterns.subtree_patterns import Subtrees
from tests.unit.patterns.mined import mine_trees, to_lists


def grow(nodes):
    """A nested tree from how far each node goes back up the rightmost path, and its label."""
    tree = (nodes[0][1], [])
    path = [tree]
    for back, label in nodes[1:]:
        del path[max(len(path) - back, 1) :]
        child = (label, [])
        path[-1][1].append(child)
        path.append(child)
    return tree


# Two labels, mostly going down, so that a label often recurs below itself.
TREES = st.lists(
    st.tuples(st.sampled_from([0, 0, 1, 1, 2, 3]), st.sampled_from([0, 0, 1])), min_size=1, max_size=9
).map(grow)
FORESTS = st.lists(TREES, max_size=5)


def flatten(tree, depth=0):
    """A nested tree's (depth, label) in preorder."""
    return [(depth, tree[0])] + [node for below in tree[1] for node in flatten(below, depth + 1)]


def forest_of(trees) -> Forest:
    rows = [flatten(tree) for tree in trees]
    sizes = []
    for row in rows:
        for place, (depth, _) in enumerate(row):
            later = (other for other in range(place + 1, len(row)) if row[other][0] <= depth)
            sizes.append(next(later, len(row)) - place)
    offsets = np.cumsum([0] + [len(row) for row in rows]).astype(np.int64)
    return Forest(np.array([node[1] for row in rows for node in row], np.int32), np.array(sizes, np.int32), offsets)


def rooted(tree, max_nodes):
    """Every subtree at this node, as nested tuples, from every choice of children and their subtrees."""
    below = [rooted(child, max_nodes - 1) for child in tree[1]] if max_nodes > 1 else []
    found = set()
    for count in range(min(len(below), max_nodes - 1) + 1):
        for chosen in combinations(below, count):
            picks = [()]
            for options in chosen:
                picks = [(*pick, option) for pick in picks for option in options]
            found.update((tree[0], pick) for pick in picks if 1 + sum(map(nodes, pick)) <= max_nodes)
    return found


def nodes(tree):
    return 1 + sum(map(nodes, tree[1]))


def everywhere(tree, max_nodes):
    return rooted(tree, max_nodes).union(*(everywhere(child, max_nodes) for child in tree[1]))


def brute_force(trees, max_nodes):
    support = {}
    for tree in trees:
        for pattern in everywhere(tree, max_nodes):
            if nodes(pattern) > 1:
                key = tuple(flatten(pattern))
                support[key] = support.get(key, 0) + 1
    return support


@given(FORESTS, st.integers(1, 3), st.integers(2, 5))
def test_subtrees_and_supports_are_those_of_brute_force(trees, min_support, max_nodes):
    found, support = mine_trees(forest_of(trees), min_support, max_nodes)
    rows = {tuple(row): count for row, count in zip(to_lists(found), support.tolist(), strict=True)}
    assert len(rows) == len(found)
    wanted = brute_force(trees, max_nodes)
    assert rows == {pattern: count for pattern, count in wanted.items() if count >= min_support}


@given(FORESTS, st.data(), st.sampled_from([1, 2, 100]))
def test_counts_and_occurrences_are_those_of_brute_force(trees, data, chunk):
    per_tree = [brute_force([tree], 4) for tree in trees]
    known = sorted(set().union(*per_tree))
    absent = [((0, 5), (1, 0)), ((0, 0), (1, 5)), ((0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)), ((0, 1),)]
    chosen = data.draw(st.lists(st.sampled_from([*known, *absent]), max_size=12))
    single = {
        pattern: [i for i, tree in enumerate(trees) if any(n[1] == 1 for n in flatten(tree))] for pattern in absent[3:]
    }
    six = {pattern: [i for i, tree in enumerate(trees) if pattern in brute_force([tree], 6)] for pattern in absent[2:3]}
    wanted = [{**single, **six}.get(p, [i for i, rows in enumerate(per_tree) if p in rows]) for p in chosen]
    forest, patterns = forest_of(trees), count_subtrees.SubtreeTrie.build(Subtrees.from_lists(chosen))
    with patch.object(count_subtrees, "CHUNK", chunk):
        assert count_subtrees.count(forest, patterns).tolist() == [len(rows) for rows in wanted]
        found = count_subtrees.occurrences(forest, patterns)
    pairs = [found.sentences[found.offsets[i] : found.offsets[i + 1]].tolist() for i in range(len(chosen))]
    assert pairs == wanted


def test_one_node_can_be_parent_and_grandparent_of_matches():
    """The inner 0 ends one match of 0 below 0 and begins another; without the steps back its sibling 1 is lost."""
    tree = (0, [(0, [(0, []), (1, [])])])
    found, support = mine_trees(forest_of([tree]), 1, 4)
    rows = {tuple(row): count for row, count in zip(to_lists(found), support.tolist(), strict=True)}
    assert rows == brute_force([tree], 4)
    assert ((0, 0), (1, 0), (1, 1)) in rows


def test_limits_that_allow_nothing_are_refused():
    for support, limit in ((0, 3), (1, 1)):
        with pytest.raises(ValueError, match="at least"):
            mine_trees(forest_of([(0, ())]), support, limit)
