"""Several sets mined together: each has the same patterns as alone, and the counts match a search for each pattern."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.patterns import count_sequences, count_subtrees, mine_sequences, mine_subtrees, prefixspan_package
from ops.patterns.mined import FIRST_HALF, MARK, NEVER, Mined, by_document
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees
from tests.unit.patterns.mined import mine, mine_trees, to_lists
from tests.unit.patterns.read_forest import read_forest

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
    supports = st.tuples(*[st.sampled_from([1, 2, 3, NEVER])] * 3)
    least = data.draw(st.lists(supports, min_size=len(sets), max_size=len(sets)))
    marks = np.array(data.draw(st.lists(st.integers(0, 3), min_size=sentences, max_size=sentences)), np.uint8)
    codes = st.lists(st.integers(0, 3), min_size=sentences, max_size=sentences)
    return sets, np.array(least, np.int64).reshape(-1, 3), marks, np.array(data.draw(codes), np.int32)


def frequent(
    where: Occurrences, marks: np.ndarray, documents: np.ndarray, least: np.ndarray
) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return which patterns are frequent in a set or in a half of it, and their counts by hand."""
    sizes, places, rows = Counter(documents.tolist()), [], []
    for place, (first, stop) in enumerate(pairwise(where.offsets.tolist())):
        own = where.sentences[first:stop]
        of, half = Counter(documents[own].tolist()), [int(mark) for mark in marks[own] if mark & FIRST_HALF]
        marked = (sum(mark & MARK for mark in some) for some in (marks[own].tolist(), half))
        squares, products = sum(n * n for n in of.values()), sum(n * sizes[code] for code, n in of.items())
        if len(own) >= least[0] or len(half) >= least[1] or len(own) - len(half) >= least[2]:
            places.append(place)
            rows.append((len(own), next(marked), len(half), next(marked), len(of), squares, products))
    return places, rows


def of_set(found: Mined, number: int) -> tuple[list[list[int]], list[tuple[int, ...]]]:
    own = slice(found.offsets[number], found.offsets[number + 1])
    return found.patterns.to_lists()[own], found.counts[own].tolist()


@given(SENTENCES, st.integers(1, 4), st.integers(-1, 3), st.data())
def test_sequences(sentences, max_length, max_gap, data):
    every = Sequences.from_lists(sentences)
    sets, least, marks, documents = draw_sets(data, len(sentences))
    found = mine_sequences.mine_sets(every, sets, least, max_length, max_gap, marks, documents)
    for number, members in enumerate(sets.to_lists()):
        own = every.take(np.array(members, np.int64))
        alone = mine(own, int(least[number].min()), max_length, max_gap)[0]
        where = count_sequences.occurrences(own, alone, max_gap)
        places, counts = frequent(where, marks[members], documents[members], least[number])
        assert of_set(found, number) == ([alone.to_lists()[place] for place in places], counts)
    if max_gap < 0:
        package = prefixspan_package.mine_sets(every, sets, least, max_length, marks, documents)
        for number in range(len(sets)):
            ours, theirs = (sorted(zip(*of_set(f, number), strict=True)) for f in (found, package))
            assert ours == theirs


@given(st.lists(st.sampled_from(TREES), min_size=1, max_size=8), st.sampled_from([2, 3, 4, 5, 10**14]), st.data())
def test_subtrees(texts, max_nodes, data):
    forest, labels = read_forest(texts)
    sets, least, marks, documents = draw_sets(data, len(texts))
    n_labels = len(labels) + 1
    found = mine_subtrees.mine_sets(forest, sets, least, max_nodes, n_labels, marks, documents)
    for number, members in enumerate(sets.to_lists()):
        own = forest.take(np.array(members, np.int32))
        alone = mine_trees(own, int(least[number].min()), max_nodes)[0]
        where = count_subtrees.occurrences(own, count_subtrees.SubtreeTrie.build(alone))
        places, counts = frequent(where, marks[members], documents[members], least[number])
        patterns, found_counts = of_set(found, number)
        subtrees = Subtrees.from_extensions(Sequences.from_lists(patterns), n_labels)
        assert to_lists(subtrees) == [to_lists(alone)[place] for place in places]
        assert found_counts == counts


def test_members_are_ordered_by_document_in_each_set() -> None:
    sets = Sequences.from_lists([[0, 1, 2, 3], [], [1, 3]])
    assert by_document(sets, np.array([7, 2, 7, 0], np.int32)).tolist() == [3, 1, 0, 2, 3, 1]


def test_a_support_below_one_is_refused() -> None:
    sets, least, no = Sequences.of_all(1), np.zeros((1, 3), np.int64), (np.zeros(1, np.uint8), np.zeros(1, np.int32))
    with pytest.raises(ValueError, match="at least 1"):
        mine_sequences.mine_sets(Sequences.from_lists([[0]]), sets, least, 2, 0, *no)
    with pytest.raises(ValueError, match="at least 1"):
        mine_subtrees.mine_sets(read_forest([""])[0], sets, least, 2, 1, *no)
