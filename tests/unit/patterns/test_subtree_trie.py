import pytest

from ops.patterns.count_subtrees import SubtreeTrie
from ops.patterns.subtree_patterns import Subtrees


def test_a_trie_knows_which_labels_lie_below_which():
    rows = [[(0, 2), (1, 0), (1, 1)], [(0, 2), (1, 0)], [(0, 0)]]
    found = SubtreeTrie.build(Subtrees.from_lists(rows))
    assert {(parent, child) for parent, child in zip(*found.allowed.nonzero(), strict=True)} == {
        (2, 0),
        (2, 1),
    }
    # The root, then 0 and 2 as first nodes, 0 below 2, and 1 one step back from there.
    assert found.code.tolist() == [-1, 0, 2, 0, 1 * 3 + 1]
    assert found.trie.node_of.tolist() == [4, 3, 1]


def test_a_subtree_without_nodes_is_refused():
    with pytest.raises(ValueError, match="at least one item"):
        SubtreeTrie.build(Subtrees.from_lists([[(0, 1)], []]))
