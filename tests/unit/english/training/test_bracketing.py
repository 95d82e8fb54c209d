import pytest
from hypothesis import given

from ops.english.training.evaluation import Agreement, Scores, agreement
from ops.errors import InputError
from ops.penn import Tree, leaves, read
from tests.unit.english.strategies import TREES

GOLD = "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD sat) (PRT (RP down))) (. .)))"


CASES = {
    "the same tree agrees in every bracket but ROOT": (GOLD, GOLD, (4, 4, 4)),
    "PRT counts as ADVP": (GOLD, GOLD.replace("PRT", "ADVP"), (4, 4, 4)),
    "another label and another span are wrong": (
        GOLD,
        "(ROOT (S (NP (DT The)) (NP (NN dog)) (NP (VBD sat) (PRT (RP down))) (. .)))",
        (2, 4, 5),
    ),
    "punctuation does not move brackets": (
        GOLD,
        "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD sat) (PRT (RP down)) (. .))))",
        (4, 4, 4),
    ),
    "the gold tags say what is punctuation": (GOLD, GOLD.replace("(RP down)", "(. down)"), (4, 4, 4)),
    "phrases over punctuation alone do not count": (
        "(ROOT (S (NN a) (PRN (, ,))))",
        "(ROOT (S (NN a) (, ,)))",
        (1, 1, 1),
    ),
    "repeated brackets count as often as in both": (
        "(ROOT (NP (NP (NP (NN a)))))",
        "(ROOT (NP (NP (NN a))))",
        (2, 3, 2),
    ),
    "other tokens over the same characters are compared": (
        "(ROOT (S (NP (NN cannot)) (VP (VB go))))",
        "(ROOT (S (NP (MD can) (RB not)) (VP (VB go))))",
        (3, 3, 3),
    ),
}


def test_brackets_that_agree():
    for name, (gold, predicted, expected) in CASES.items():
        found = agreement(read(gold), read(predicted))
        assert (found.matched, found.gold, found.predicted) == expected, name
    with pytest.raises(InputError, match="b"):
        agreement(read("(NN a)"), read("(NN b)"))


def test_precision_recall_and_f1():
    found = Agreement(matched=3, gold=4, predicted=6)
    assert Scores(3, 2, found).row() == {"tag_accuracy": 66.67, "precision": 50, "recall": 75, "f1": 60}
    assert found + Agreement(1, 2, 3) == Agreement(4, 6, 9)
    assert Scores(1, 1, Agreement()).row() == dict.fromkeys(("tag_accuracy", "precision", "recall", "f1"), 100)


@given(TREES)
def test_a_tree_agrees_with_itself_and_not_with_a_flat_one(tree):
    itself = agreement(tree, tree)
    assert itself.matched == itself.gold == itself.predicted
    flat = Tree("ROOT", leaves(tree))
    other = agreement(tree, flat)
    assert (other.matched, other.predicted) == (0, 0)
    assert other.gold == itself.gold
