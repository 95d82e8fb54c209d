import numpy as np
import pytest

from ops.errors import InputError
from ops.patterns.forest import Forest, read, read_forest

TEXT = "(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))"


def spelled(text, collapse_root=False):
    """The tree in brackets again, from labels and sizes alone."""
    labels, sizes = read(text, collapse_root)

    def show(node):
        below, child = [], node + 1
        while child < node + sizes[node]:
            below.append(show(child))
            child += sizes[child]
        return f"({' '.join([labels[node], *below])})"

    return show(0)


def test_words_and_punctuation_leave_and_the_rest_stays():
    assert spelled(TEXT) == "(ROOT (S (NP (PRP)) (VP (VBP))))"


def test_a_phrase_emptied_of_punctuation_stays():
    assert spelled("(ROOT (NP (NN snow) (PRN (-LRB- -LRB-) (: -) (-RRB- -RRB-))))") == "(ROOT (NP (NN) (PRN)))"


def test_only_a_tag_is_punctuation_and_symbols_stay():
    assert spelled("(ROOT (NP (CD 5) (NN %) (SYM *) (, lol)) (: (UH hm)))") == "(ROOT (NP (CD) (NN) (SYM)) (: (UH)))"


def test_every_s_right_under_root_is_merged_and_no_other():
    text = "(ROOT (S (S (NN a)) (VP (VB b))) (FRAG (S (NN c))) (S (NN d)))"
    assert spelled(text, True) == "(ROOT (S (NN)) (VP (VB)) (FRAG (S (NN))) (NN))"
    assert spelled("(S (S (NN a)))", True) == "(S (S (NN)))"
    assert spelled("(ROOT (S x) (S (S (NN a))))", True) == "(ROOT (S) (S (NN)))"


def test_a_bracket_without_label_is_root():
    assert spelled(" ( (S (NN a)))\n", True) == "(ROOT (NN))"


def test_any_depth_passes():
    labels, sizes = read("(S " * 5000 + "(NN a)" + ")" * 5000)
    assert (len(labels), sizes[0], sizes[-1]) == (5001, 5001, 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(S (NN a)", "1 brackets are left open"),
        ("(S (NN a)))", "never opened"),
        ("(S (NN a)) (S (NN b))", "beside a word or a finished tree"),
        ("(S)", "the phrase S is empty"),
        ("(S (NN a b))", "the word 'b'"),
        ("(S (NN a) b)", "the word 'b'"),
        ("(S (NN a (NN b)))", "beside a word"),
        ("word", "the word 'word'"),
    ],
)
def test_a_malformed_tree_is_refused_by_row(text, found):
    with pytest.raises(InputError, match=r"^row 1: tree .*" + found.replace("(", "\\(")):
        read_forest([TEXT, text])


def test_a_forest_holds_the_trees_end_to_end():
    forest, labels = read_forest([TEXT, "", "(NP (NN ice))"])
    assert labels == sorted(labels)
    assert len(forest) == 3
    assert forest.offsets.tolist() == [0, 6, 6, 8]
    assert [labels[code] for code in forest.label[6:]] == ["NP", "NN"]
    assert (forest.label.dtype, forest.size.dtype, forest.offsets.dtype) == (np.int32, np.int32, np.int64)


def test_take_keeps_sizes_with_their_trees():
    forest, _ = read_forest([TEXT, "", "(NP (NN ice))"])
    taken = forest.take([2, 0, 2])
    assert taken.offsets.tolist() == [0, 2, 8, 10]
    assert taken.size.tolist() == [2, 1, *forest.size[:6].tolist(), 2, 1]
    assert forest.take(np.array([False, True, True])).label.tolist() == forest.label[6:].tolist()


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="last offset"):
        Forest(np.zeros(2, np.int32), np.ones(3, np.int32), np.array([0, 3]))
