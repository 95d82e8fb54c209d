import pytest
import spacy
from spacy.tokens import Doc

import ops.english
from ops.english.sentences import store_tree
from ops.english.training.evaluation import compare, evaluate, sentence_of_doc
from ops.english.training.treebank import Sentence, sentence_of_tree
from ops.penn import read, write
from tests.unit.english import small


def test_words_and_brackets_are_counted_over_sentences():
    scores = compare(small.sentences(), small.sentences())
    assert scores.row() == {"tag_accuracy": 100, "precision": 100, "recall": 100, "f1": 100}
    gold = [Sentence(["can", "not", "go"], ["MD", "RB", "VB"])]
    scores = compare(gold, [Sentence(["cannot", "go"], ["MD", "VB"])])
    assert (scores.words, scores.right, scores.brackets) == (3, 1, None)
    assert scores.row() == {"tag_accuracy": pytest.approx(33.33)}
    gold = [sentence_of_tree(read("(ROOT (S (NN a)))")), sentence_of_tree(read("(ROOT (NP (NN a) (NN b)))"))]
    brackets = compare(gold, [gold[0], sentence_of_tree(read("(ROOT (VP (NN a) (NN b)))"))]).brackets
    assert (brackets.matched, brackets.gold, brackets.predicted) == (1, 2, 2)


def test_the_sentences_of_a_doc_stand_under_one_root():
    doc = Doc(spacy.blank("en").vocab, words=["a", "b"], tags=["A", "B"], sent_starts=[True, True])
    store_tree(doc, 0, 1, "(ROOT (X (A a)))")
    store_tree(doc, 1, 2, "(ROOT (B b))")
    found = sentence_of_doc(doc)
    assert write(found.tree) == "(ROOT (X (A a)) (B b))"
    assert found.tags == ["A", "B"]


def test_the_shipped_pipeline_knows_simple_sentences():
    nlp = ops.english.load()
    gold = [sentence_of_tree(read("(ROOT (S (NP (PRP She)) (VP (VBD read) (NP (DT the) (NN book))) (. .)))"))]
    assert evaluate(nlp, gold).row()["f1"] == 100
    assert evaluate(nlp, gold, raw=True).row()["tag_accuracy"] == 100
