import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.english.labels import CHAIN, TreeLabels, bracketed, decode, encode
from ops.english.training.evaluation import Agreement, agreement
from ops.english.training.treebank import read_trees
from ops.errors import InputError
from ops.penn import ROOT, Tree, leaves, read, write
from tests.unit.english.strategies import TREES, WORDS

DATA = os.environ.get("ATLAS_TEST_DATA")


def built(words, tags, labels):
    """Build the tree of labels node by node."""
    depths, phrases, unaries = labels.depths, labels.phrases, labels.unaries
    root = Tree(ROOT)
    path: list[tuple[int, Tree]] = [(1, root)]
    for place, word in enumerate(words):
        leaf = _with_chain(unaries[place], Tree(tags[place], word=word))[0]
        depth = depths[place] if place < len(depths) else 1
        if depth > path[-1][0]:
            top, phrase = _with_chain(phrases[place], Tree("", [leaf]))
            path[-1][1].children.append(top)
            path.append((depth, phrase))
            continue
        path[-1][1].children.append(leaf)
        while path[-1][0] > depth:
            path.pop()
        if path[-1][0] < depth:
            children = path[-1][1].children
            top, phrase = _with_chain(phrases[place], Tree("", [children[-1]]))
            children[-1] = top
            path.append((depth, phrase))
    return root


def _with_chain(chain, bottom):
    """Return the top of a chain of labels over a leaf or a phrase without a label, and this leaf or phrase."""
    labels = chain.split(CHAIN) if chain else []
    if bottom.word is None:
        bottom.label = labels.pop()
    node = bottom
    for label in reversed(labels):
        node = Tree(label, [node])
    return node, bottom


def again(tree):
    labels = encode(tree)
    found = leaves(tree)
    words, tags = [leaf.word for leaf in found], [leaf.label for leaf in found]
    return decode(words, tags, labels)


def test_labels_of_a_tree():
    labels = encode(read("(ROOT (S (NP (DT The) (NN dog)) (VP (VP (VBD sat) (ADVP (RB down)))) (. .)))"))
    assert labels.depths == [3, 2, 3, 2]
    assert labels.phrases == ["NP", "S", "VP+VP", "S"]
    assert labels.unaries == ["", "", "", "ADVP", ""]
    labels = encode(read("(ROOT (S (NP (NN a))))"))
    assert (labels.depths, labels.phrases, labels.unaries) == ([], [], ["S+NP"])
    assert encode(read("(ROOT (NP (NN a)) (NP (NN b)))")).depths == [1]
    for line in ("(S (NN a))", "(ROOT (S+X (NN a)))", "(ROOT (ROOT (NN a)))"):
        with pytest.raises(InputError):
            encode(read(line))


def test_a_depth_that_is_skipped_makes_no_phrase():
    tree = decode(["a", "b", "c"], ["A", "B", "C"], TreeLabels([9, 4], ["X", "Y"], ["", "", "Z"]))
    assert write(tree) == "(ROOT (Y (X (A a) (B b)) (Z (C c))))"


@given(TREES)
def test_decoding_undoes_encoding(tree):
    assert write(again(tree)) == write(tree)


@given(st.lists(st.integers(1, 30), max_size=30))
def test_any_depths_give_a_tree_with_every_word(depths):
    words = [str(place) for place in range(len(depths) + 1)]
    tree = decode(words, ["NN"] * len(words), TreeLabels(depths, ["X"] * len(depths), [""] * len(words)))
    assert [leaf.word for leaf in leaves(read(write(tree)))] == words


NAMES = st.sampled_from(["S", "NP+VP", "PP+NP+NP"])
LABELLED = st.tuples(WORDS, st.sampled_from(["NN", "-LRB-", ""]), st.integers(1, 9), NAMES, NAMES | st.just(""))


@given(st.lists(LABELLED, min_size=1, max_size=30))
def test_brackets_and_trees_are_those_of_the_tree_that_is_built_node_by_node(labelled):
    words, tags, depths, phrases, unaries = (list(column) for column in zip(*labelled, strict=True))
    words[0] += "("
    arguments = words, tags, TreeLabels(depths[:-1], phrases[:-1], unaries)
    assert bracketed(*arguments) == write(decode(*arguments)) == write(built(*arguments))
    assert [leaf.word for leaf in leaves(decode(*arguments))] == words


@pytest.mark.skipif(not DATA, reason="ATLAS_TEST_DATA is not set")
def test_gold_trees_come_back():
    total = Agreement()
    for sentence in read_trees(Path(DATA or "") / "treebanks" / "gum-dev.mrg.gz"):
        total += agreement(sentence.tree, again(sentence.tree))
    assert total.gold > 20_000
    assert 2 * total.matched >= 0.998 * (total.gold + total.predicted)
