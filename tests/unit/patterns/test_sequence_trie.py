import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences

PATTERNS = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=4), max_size=12)


def test_a_pattern_without_items_is_refused():
    for patterns in ([[]], [[1], []], [[-1]]):
        with pytest.raises(ValueError, match="at least one item"):
            SequenceTrie.build(Sequences.from_lists(patterns))


@given(PATTERNS)
def test_the_trie_has_each_pattern(patterns):
    trie = SequenceTrie.build(Sequences.from_lists(patterns))
    parent = {
        child: node
        for node in range(trie.label.size)
        for child in range(trie.first_child[node], trie.first_child[node + 1])
    }
    for pattern, node in zip(patterns, trie.node_of.tolist(), strict=True):
        items = []
        while node:
            items.append(int(trie.alphabet[trie.label[node]]))
            node = parent[node]
        assert items[::-1] == pattern
    assert trie.label.size == 1 + len({tuple(p[:i]) for p in patterns for i in range(1, len(p) + 1)})
    assert np.all(np.diff(trie.first_child) >= 0)


@given(PATTERNS, st.lists(st.lists(st.integers(0, 8), max_size=5), max_size=12))
def test_a_pattern_is_found_where_the_trie_has_it(patterns, asked):
    trie = SequenceTrie.build(Sequences.from_lists(patterns))
    found = trie.find(Sequences.from_lists(asked)).tolist()
    assert [patterns[index] if index >= 0 else None for index in found] == [
        row if row in patterns else None for row in asked
    ]
    assert trie.is_end.nonzero()[0].tolist() == sorted(set(trie.node_of.tolist()))


def test_items_of_no_pattern_have_no_code():
    trie = SequenceTrie.build(Sequences.from_lists([[7, 3], [900]]))
    assert trie.compact(np.array([3, 4, 7, 900, 2_000_000], np.int32)).tolist() == [0, -1, 1, 2, -1]
    assert SequenceTrie.build(Sequences.from_lists([])).compact(np.array([3], np.int32)).tolist() == [-1]
