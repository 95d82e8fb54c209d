import pytest
from hypothesis import given

from ops.english.training.bracketing import Agreement, agreement
from ops.errors import InputError
from ops.penn import Tree, leaves, read
from tests.unit.english.strategies import TREES

GOLD = "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD sat) (PRT (RP down))) (. .)))"


def agreed(gold, predicted):
    found = agreement(read(gold), read(predicted))
    return found.matched, found.gold, found.predicted


def test_the_same_tree_agrees_in_every_bracket_but_root():
    assert agreed(GOLD, GOLD) == (4, 4, 4)


def test_prt_counts_as_advp():
    assert agreed(GOLD, GOLD.replace("PRT", "ADVP")) == (4, 4, 4)


def test_another_label_and_another_span_are_wrong():
    assert agreed(GOLD, "(ROOT (S (NP (DT The)) (NP (NN dog)) (NP (VBD sat) (PRT (RP down))) (. .)))") == (
        2,
        4,
        5,
    )


def test_punctuation_does_not_move_brackets():
    predicted = "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD sat) (PRT (RP down)) (. .))))"
    assert agreed(GOLD, predicted) == (4, 4, 4)


def test_what_is_punctuation_is_decided_by_the_gold_tags():
    assert agreed(GOLD, GOLD.replace("(RP down)", "(. down)")) == (4, 4, 4)


def test_phrases_over_punctuation_alone_do_not_count():
    assert agreed("(ROOT (S (NN a) (PRN (, ,))))", "(ROOT (S (NN a) (, ,)))") == (1, 1, 1)


def test_repeated_brackets_count_as_often_as_in_both():
    assert agreed("(ROOT (NP (NP (NP (NN a)))))", "(ROOT (NP (NP (NN a))))") == (2, 3, 2)


def test_other_tokens_over_the_same_characters_are_compared():
    gold = "(ROOT (S (NP (NN cannot)) (VP (VB go))))"
    assert agreed(gold, "(ROOT (S (NP (MD can) (RB not)) (VP (VB go))))") == (3, 3, 3)


def test_other_words_are_refused():
    with pytest.raises(InputError, match="b"):
        agreement(read("(NN a)"), read("(NN b)"))


def test_precision_recall_and_f1():
    found = Agreement(matched=3, gold=4, predicted=6)
    assert (found.precision, found.recall) == (50, 75)
    assert found.f1 == pytest.approx(60)
    assert found + Agreement(1, 2, 3) == Agreement(4, 6, 9)
    assert Agreement().f1 == 100


@given(TREES)
def test_a_tree_agrees_with_itself_and_not_with_a_flat_one(tree):
    itself = agreement(tree, tree)
    assert itself.matched == itself.gold == itself.predicted
    flat = Tree("ROOT", leaves(tree))
    other = agreement(tree, flat)
    assert (other.matched, other.predicted) == (0, 0)
    assert other.gold == itself.gold
