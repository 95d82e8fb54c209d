import re

import pytest
from hypothesis import given

from ops.errors import InputError
from ops.penn import (
    PUNCTUATION_TAGS,
    TAG_CLASSES,
    escape,
    leaves,
    read,
    read_labels_and_sizes,
    tag_class,
    unescape,
    walk,
    write,
)
from tests.unit.english.strategies import TREES


def test_reads_labels_tags_and_words():
    tree = read("(ROOT (S (NP (PRP I)) (VP (VBP sleep))))")
    assert tree.label == "ROOT"
    assert [node.label for node in walk(tree)] == ["ROOT", "S", "NP", "PRP", "VP", "VBP"]
    assert [(leaf.label, leaf.word) for leaf in leaves(tree)] == [("PRP", "I"), ("VBP", "sleep")]
    assert write(read("( (S (NN a)) )")) == "(ROOT (S (NN a)))"
    assert read_labels_and_sizes(" ") == ([], [])
    with pytest.raises(InputError, match="it holds no tree"):
        read("")


def test_brackets_in_words_are_escaped():
    line = "(S (-LRB- -LRB-) (NN :-RRB-) (-RRB- -RRB-))"
    assert [leaf.word for leaf in leaves(read(line))] == ["(", ":)", ")"]
    assert write(read(line)) == line
    assert [escape("a\u00a0b\n"), escape(" ")] == ["a_b", "_"], "white space in a word cannot break a line"
    assert unescape("a-b") == "a-b"


@pytest.mark.parametrize("reader", [read, read_labels_and_sizes])
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a", "the word 'a'"),
        ("(S (NN a)", "1 brackets are left open"),
        ("(S (NN a)))", "never opened"),
        ("(S)", "the phrase S is empty"),
        ("()", "the phrase ROOT is empty"),
        ("(S (NN a)) (S (NN b))", "a bracket opens after a finished tree"),
        ("(S (NN a)) b", "the word 'b'"),
        ("(S (NN a) b)", "the word 'b'"),
        ("(S (NN a b))", "the word 'b'"),
        ("(S (NN a (NN b)))", "next to a word, 'a'"),
    ],
)
def test_what_is_not_one_tree_is_refused(reader, line, found):
    with pytest.raises(InputError, match=f"^tree {re.escape(repr(line))}: .*{re.escape(found)}"):
        reader(line)


def test_any_depth_passes():
    depth = 50_000
    line = "(X " * depth + "(NN a)" + ")" * depth
    assert write(read(line)) == line
    labels, sizes = read_labels_and_sizes(line)
    assert (len(labels), sizes[0], sizes[-1]) == (depth + 1, depth + 1, 1)


@given(TREES)
def test_what_is_written_is_read_back(tree):
    assert write(read(write(tree))) == write(tree)
    assert [leaf.word for leaf in leaves(read(write(tree)))] == [leaf.word for leaf in leaves(tree)]


def spelled(text):
    """The tree in brackets again, from labels and sizes alone."""
    labels, sizes = read_labels_and_sizes(text)

    def show(node):
        below, child = [], node + 1
        while child < node + sizes[node]:
            below.append(show(child))
            child += sizes[child]
        return f"({' '.join([labels[node], *below])})"

    return show(0)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))", "(ROOT (S (NP (PRP)) (VP (VBP))))"),
        ("(ROOT (NP (NN snow) (PRN (-LRB- -LRB-) (: -) (-RRB- -RRB-))))", "(ROOT (NP (NN) (PRN)))"),
        ("(ROOT (NP (CD 5) (NN %) (SYM *) (, lol)) (: (UH hm)))", "(ROOT (NP (CD) (NN) (SYM)) (: (UH)))"),
        (" ( (S (NN a)))\n", "(ROOT (S (NN)))"),
    ],
)
def test_words_and_tags_of_punctuation_leave_and_the_rest_stays(line, expected):
    assert spelled(line) == expected


@given(TREES)
def test_both_forms_have_the_same_nodes(tree):
    def nodes(node):
        """Return labels and sizes below a node, by recursion."""
        if node.word is not None:
            return ([], []) if node.label in PUNCTUATION_TAGS else ([node.label], [1])
        below = [nodes(child) for child in node.children]
        labels, sizes = ([entry for part in parts for entry in part] for parts in zip(*below, strict=True))
        return [node.label, *labels], [len(labels) + 1, *sizes]

    assert read_labels_and_sizes(write(tree)) == nodes(tree)


def test_every_class_is_reached():
    found = {tag: tag_class(tag) for tag in ("NN", "NNP", "VBD", "VB", "JJ", "JJS", "RB", "MD", "N", "")}
    assert set(found.values()) == set(TAG_CLASSES)
    assert found["NNP"] == "noun"
    assert found["MD"] == found["N"] == "other"
