"""Several sets mined together: each has the same patterns as alone, and the counts match a search for each pattern."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.mined import mine, mine_trees
from bench.trees import read_forest
from ops.patterns import count_sequences, count_subtrees, mine_sequences, mine_subtrees, prefixspan_package
from ops.patterns.forest import Forest
from ops.patterns.mined import Mined, by_document
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees

SENTENCES = st.lists(st.lists(st.integers(0, 4), max_size=7), min_size=1, max_size=9)
TREES = [
    "(ROOT (S (NP (PRP I)) (VP (VBP sleep) (NP (NN snow)))))",
    "(ROOT (NP (NP (NN ice)) (PP (IN in) (NP (NN May)))))",
    "(ROOT (S (NP (NN snow)) (VP (VBP falls)) (VP (VBP melts))))",
    "",
    "(ROOT (S (VP (VBP sleep))))",
]


def draw_sets(data: st.DataObject, sentences: int) -> tuple[Sequences, np.ndarray, np.ndarray, np.ndarray]:
    members = st.lists(st.integers(0, sentences - 1), unique=True).map(sorted)
    sets = Sequences.from_lists(data.draw(st.lists(members, max_size=4)))
    least = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(sets), max_size=len(sets))), np.int64)
    marked = np.array(data.draw(st.lists(st.booleans(), min_size=sentences, max_size=sentences)), bool)
    codes = st.lists(st.integers(0, 3), min_size=sentences, max_size=sentences)
    return sets, least, marked, np.array(data.draw(codes), np.int32)


def counted(where: Occurrences, marked: np.ndarray, documents: np.ndarray) -> list[tuple[int, ...]]:
    """Support, marked sentences, documents, squares and products of each pattern, by hand."""
    sizes, rows = Counter(documents.tolist()), []
    for first, stop in pairwise(where.offsets.tolist()):
        own = where.sentences[first:stop]
        of = Counter(documents[own].tolist())
        squares, products = sum(n * n for n in of.values()), sum(n * sizes[code] for code, n in of.items())
        rows.append((len(own), int(marked[own].sum()), len(of), squares, products))
    return rows


def of_set(found: Mined, number: int) -> tuple[list[list[int]], list[tuple[int, ...]]]:
    own = slice(found.offsets[number], found.offsets[number + 1])
    return found.patterns.to_lists()[own], found.counts[own].tolist()


@given(SENTENCES, st.integers(1, 4), st.integers(-1, 3), st.data())
def test_sequences(sentences, max_length, max_gap, data):
    every = Sequences.from_lists(sentences)
    sets, least, marked, documents = draw_sets(data, len(sentences))
    found = mine_sequences.mine_sets(every, sets, least, max_length, max_gap, marked, documents)
    for number, members in enumerate(sets.to_lists()):
        own = every.take(np.array(members, np.int64))
        patterns, counts = of_set(found, number)
        assert patterns == mine(own, int(least[number]), max_length, max_gap)[0].to_lists()
        where = count_sequences.occurrences(own, Sequences.from_lists(patterns), max_gap)
        assert counts == counted(where, marked[members], documents[members])
    if max_gap < 0:
        package = prefixspan_package.mine_sets(every, sets, least, max_length, marked, documents)
        for number in range(len(sets)):
            ours, theirs = (sorted(zip(*of_set(f, number), strict=True)) for f in (found, package))
            assert ours == theirs


@given(st.lists(st.sampled_from(TREES), min_size=1, max_size=8), st.sampled_from([2, 3, 4, 5, 10**14]), st.data())
def test_subtrees(texts, max_nodes, data):
    forest, labels = read_forest(texts)
    sets, least, marked, documents = draw_sets(data, len(texts))
    n_labels = len(labels) + 1
    found = mine_subtrees.mine_sets(forest, sets, least, max_nodes, n_labels, marked, documents)
    for number, members in enumerate(sets.to_lists()):
        rows = np.array(members, np.int64)
        labels, sizes = (Sequences(values, forest.offsets).take(rows) for values in (forest.label, forest.size))
        own = Forest(labels.items, sizes.items, labels.offsets)
        patterns, counts = of_set(found, number)
        subtrees = Subtrees.from_extensions(Sequences.from_lists(patterns), n_labels)
        alone = mine_trees(own, int(least[number]), max_nodes)[0]
        assert subtrees.to_lists() == alone.to_lists()
        assert counts == counted(count_subtrees.occurrences(own, subtrees), marked[members], documents[members])


def test_members_are_ordered_by_document_in_each_set() -> None:
    sets = Sequences.from_lists([[0, 1, 2, 3], [], [1, 3]])
    assert by_document(sets, np.array([7, 2, 7, 0], np.int32)).tolist() == [3, 1, 0, 2, 3, 1]


def test_a_support_below_one_is_refused() -> None:
    sets, least, no = Sequences.of_all(1), np.zeros(1, np.int64), (np.zeros(1, bool), np.zeros(1, np.int32))
    with pytest.raises(ValueError, match="at least 1"):
        mine_sequences.mine_sets(Sequences.from_lists([[0]]), sets, least, 2, 0, *no)
    with pytest.raises(ValueError, match="at least 1"):
        mine_subtrees.mine_sets(read_forest([""])[0], sets, least, 2, 1, *no)
