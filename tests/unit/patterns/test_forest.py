from itertools import pairwise

import numpy as np
import pytest

from ops.patterns.forest import Forest, collapse_root, link, pair_support
from ops.penn import ROOT, read, read_labels_and_sizes, write
from tests.unit.patterns.read_forest import read_forest

FOREST, LABELS = read_forest(["(A (B (C x)) (B (C x) (A (B x))))", "(B x)", "(A (B x))"])
A, B, C = range(3)

TEXT = "(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))"


TREES = [
    TEXT,
    "(ROOT (S (S (NN a)) (VP (VB b))) (FRAG (S (NN c))) (S (NN d)))",
    "(ROOT (S (NP (NN a)) (S (VP (VB b)))))",
    "(S (S (NN a)))",
    "(ROOT (NN a))",
    "(ROOT (S (. .)) (NN a))",
    "",
]


def nodes_of(forest, labels):
    cuts = [slice(start, stop) for start, stop in pairwise(forest.offsets.tolist())]
    return [([labels[c] for c in forest.label[cut]], forest.size[cut].tolist()) for cut in cuts]


def merged(text):
    """Labels and sizes of a tree whose S right under ROOT have gone, by way of the tree itself."""
    if not text:
        return [], []
    tree = read(text)
    if tree.label == ROOT:
        tree.children = [n for c in tree.children for n in (c.children if c.label == "S" else [c])]
    return read_labels_and_sizes(write(tree))


def test_every_s_right_under_root_is_merged_and_no_other():
    forest, labels = read_forest(TREES)
    found = nodes_of(collapse_root(forest, labels), labels)
    assert found[1] == (["ROOT", "S", "NN", "VP", "VB", "FRAG", "S", "NN", "NN"], [9, 2, 1, 2, 1, 3, 2, 1, 1])
    assert found == [merged(text) for text in TREES]


def test_without_an_s_or_a_root_nothing_is_merged():
    for text in ("(ROOT (NP (NN a)))", "(S (NP (NN a)))", ""):
        forest, labels = read_forest([text])
        assert nodes_of(collapse_root(forest, labels), labels) == nodes_of(forest, labels)


def test_a_forest_holds_the_trees_end_to_end():
    forest, labels = read_forest([TEXT, "", "(NP (NN ice))"])
    assert labels == sorted(labels)
    assert len(forest) == 3
    assert forest.offsets.tolist() == [0, 6, 6, 8]
    assert [labels[code] for code in forest.label[6:]] == ["NP", "NN"]
    assert (forest.label.dtype, forest.size.dtype, forest.offsets.dtype) == (np.int32, np.int32, np.int64)


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="last offset"):
        Forest(np.zeros(2, np.int32), np.ones(3, np.int32), np.array([0, 3]))


def test_pairs_are_counted_once_a_tree():
    assert LABELS == ["A", "B", "C"]
    assert pair_support(FOREST, 3).tolist() == [[0, 2, 0], [1, 0, 1], [0, 0, 0]]


def test_links_lead_past_what_is_not_allowed():
    allowed = np.ones((3, 3), bool)
    links, tree_of = link(FOREST, allowed)
    assert tree_of.tolist() == [0] * 7 + [1] + [2] * 2
    assert links[:7].tolist() == [
        [A, -1, 1, -1],
        [B, 0, 2, 3],
        [C, 1, -1, -1],
        [B, 0, 4, -1],
        [C, 3, -1, 5],
        [A, 3, 6, -1],
        [B, 5, -1, -1],
    ]
    allowed[B, C] = False
    links, _ = link(FOREST, allowed)
    assert links[1].tolist() == [B, 0, -1, 3]
    assert links[3].tolist() == [B, 0, 5, -1]


def test_an_unknown_label_has_no_links():
    links, _ = link(FOREST, np.ones((2, 2), bool))
    assert links[2].tolist() == [-1, 1, -1, -1]
    assert links[3].tolist() == [B, 0, 5, -1]
