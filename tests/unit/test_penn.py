import re

import pytest
from hypothesis import given, settings

from ops.errors import InputError
from ops.penn import Tree, escape, leaves, read, unescape, walk, write
from tests.unit.english.strategies import TREES


def test_reads_labels_tags_and_words():
    tree = read("(ROOT (S (NP (PRP I)) (VP (VBP sleep))))")
    assert tree.label == "ROOT"
    assert [node.label for node in walk(tree)] == ["ROOT", "S", "NP", "PRP", "VP", "VBP"]
    assert [(leaf.label, leaf.word) for leaf in leaves(tree)] == [("PRP", "I"), ("VBP", "sleep")]


def test_a_missing_top_label_is_root():
    assert write(read("( (S (NN a)) )")) == "(ROOT (S (NN a)))"


def test_brackets_in_words_are_escaped():
    line = "(S (-LRB- -LRB-) (NN :-RRB-) (-RRB- -RRB-))"
    assert [leaf.word for leaf in leaves(read(line))] == ["(", ":)", ")"]
    assert write(read(line)) == line


def test_white_space_in_a_word_cannot_break_a_line():
    assert escape("a\u00a0b\n") == "a_b"
    assert escape(" ") == "_"
    assert unescape("a-b") == "a-b"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a",
        "(S (NN a)",
        "(S (NN a)))",
        "(S)",
        "()",
        "(S (NN a)) (S (NN b))",
        "(S (NN a) b)",
        "(NN a b)",
        "(NN a (NN b))",
    ],
)
def test_what_is_not_one_tree_is_refused(line):
    with pytest.raises(InputError, match=re.escape(repr(line))):
        read(line)


def test_any_depth_passes():
    depth = 50_000
    line = "(X " * depth + "(NN a)" + ")" * depth
    assert write(read(line)) == line


def test_walk_is_in_preorder():
    tree = Tree("A", [Tree("B", [Tree("C", word="c")]), Tree("D", word="d")])
    assert [node.label for node in walk(tree)] == ["A", "B", "C", "D"]


@settings(deadline=None)
@given(TREES)
def test_what_is_written_is_read_back(tree):
    assert write(read(write(tree))) == write(tree)
    assert [leaf.word for leaf in leaves(read(write(tree)))] == [leaf.word for leaf in leaves(tree)]
