from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ops.english.training.mixture import addressed, joined, recased, vary, without_stop
from ops.english.training.treebank import Sentence, sentence_of_tree
from ops.penn import leaves, read, write
from tests.unit.english import small
from tests.unit.english.strategies import TREES


def sentence(line):
    return sentence_of_tree(read(line))


def test_the_full_stop_goes_with_its_leaf():
    found = without_stop(small.sentences()[0])
    assert found.words == ["The", "dog", "sat", "down"]
    assert write(found.tree) == "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD sat) (ADVP (RB down)))))"
    assert without_stop(Sentence(["a", "."], ["NN", "."])).words == ["a"]
    alone = sentence("(ROOT (X (. .)))")
    assert without_stop(alone) is alone


def test_two_sentences_a_name_before_one_and_another_case():
    whole, first, second = small.sentences()[:3]
    assert write(joined(first, second).tree) == "(ROOT (S (NP (PRP I)) (VP (VBP sleep))) (INTJ (UH hello)))"
    assert joined(first, Sentence(["a"], ["NN"])).tree is None
    assert write(addressed(second).tree) == "(ROOT (INTJ (NP (NNP @user)) (UH hello)))"
    found = recased(whole, str.upper)
    assert found.words == ["THE", "DOG", "SAT", "DOWN", "."]
    assert found.tags == whole.tags


@given(st.lists(TREES, min_size=1, max_size=4), st.integers(0, 1000))
def test_words_tags_and_leaves_stay_side_by_side(trees, seed):
    sentences = [sentence_of_tree(tree) for tree in trees]
    for one in sentences:
        found = vary(one, sentences, Random(seed), 0.5)
        assert [leaf.label for leaf in leaves(found.tree)] == found.tags
        assert len(found.words) == len(found.tags)
        assert vary(one, sentences, Random(seed), 0) is one
