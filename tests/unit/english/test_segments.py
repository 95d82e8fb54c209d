import pytest
import spacy
from spacy.tokens import Doc

from ops.english.segments import fill_boundaries, sentence_spans

VOCAB = spacy.blank("en").vocab


@pytest.mark.parametrize("count", [1, 2, 5])
def test_without_boundaries_a_doc_is_one_sentence(count):
    doc = Doc(VOCAB, words=["a"] * count)
    assert sentence_spans(doc) == [(0, count)]
    fill_boundaries(doc)
    assert [(sentence.start, sentence.end) for sentence in doc.sents] == [(0, count)]
    assert sentence_spans(doc) == [(0, count)]


def test_boundaries_that_are_set_stay():
    doc = Doc(VOCAB, words=["a", "b", "c"], sent_starts=[True, False, True])
    fill_boundaries(doc)
    assert sentence_spans(doc) == [(0, 2), (2, 3)]
    assert [len(sentence) for sentence in doc.sents] == [2, 1]


def test_an_empty_doc_has_no_sentence():
    doc = Doc(VOCAB)
    fill_boundaries(doc)
    assert sentence_spans(doc) == []
