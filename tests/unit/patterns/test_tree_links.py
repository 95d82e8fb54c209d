import numpy as np

from ops.patterns.tree_links import link, pair_support
from tests.unit.patterns.read_forest import read_forest

FOREST, LABELS = read_forest(["(A (B (C x)) (B (C x) (A (B x))))", "(B x)", "(A (B x))"])
A, B, C = range(3)


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
